"""`extends: owner/.github@ref`: an organisation's configuration below a repository's own.

Keys of the repository win, lists replace, mappings merge at every depth. Of the base come its `bot.yml` and its files
below `.github/bot/`; where both have a path, the repository's own is read. A base does not extend another.

Among a repository's files those of the base stand under `owner/.github@ref:<path>`, which is also what findings call
them; the repository's own paths begin with `.github/`, so neither can be taken for the other. Pure: whoever reads the
files puts them there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from bot.workflows.document import Document, Path
from bot.workflows.findings import Findings
from bot.workflows.loader import load as load_yaml
from bot.workflows.mark import Mark
from bot.workflows.node import describe, fault

#: the one repository of an owner that others extend
REPOSITORY = ".github"
KEY = "extends"

_FORM = re.compile(
    r"(?P<owner>[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))/\.github@(?P<ref>[A-Za-z0-9_](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9_])?)"
)
_HINT = "write `owner/.github@ref`, with a branch, a tag or a commit"


def _base(value: Any) -> str:
    match = _FORM.fullmatch(value) if isinstance(value, str) else None
    if match is None or ".." in match["ref"] or "//" in match["ref"]:
        raise fault("extends", f"expected `owner/.github@ref`, got {describe(value)}", _HINT)
    return match[0]


#: `owner/.github@ref`
Base = Annotated[str, BeforeValidator(_base), WithJsonSchema({"type": "string", "pattern": f"^{_FORM.pattern}$"})]


@dataclass(frozen=True, slots=True)
class Extends:
    """What a repository's `bot.yml` extends. `mark` is where it says so."""

    owner: str
    ref: str
    mark: Mark

    @property
    def source(self) -> str:
        """What findings call it, before the colon and the path."""
        return f"{self.owner}/{REPOSITORY}@{self.ref}"

    def name(self, path: str) -> str:
        """The key of one of its files among the repository's."""
        return f"{self.source}:{path}"


def extends_of(files: Mapping[str, str], bot_file: str) -> Extends | None:
    """What the repository's own `bot.yml` extends; None where it says nothing, or nothing that can be read."""
    text = files.get(bot_file, "")
    if KEY not in text:
        return None
    document = load_yaml(bot_file, text, Findings())
    return _said(document) if document is not None else None


def _said(document: Document) -> Extends | None:
    value = document.data.get(KEY) if isinstance(document.data, dict) else None
    match = _FORM.fullmatch(value) if isinstance(value, str) else None
    return Extends(match["owner"], match["ref"], document.mark((KEY,))) if match else None


def below(files: Mapping[str, str], base: Mapping[str, str], bot_file: str) -> dict[str, str]:
    """The repository's files with those of the base that it extends; as they are where it extends none."""
    wanted = extends_of(files, bot_file)
    return {**files, **({wanted.name(path): text for path, text in base.items()} if wanted is not None else {})}


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a repository with those of its base below them. `names` is what findings call those of the base."""

    texts: Mapping[str, str]
    names: Mapping[str, str] = field(default_factory=dict)
    #: the base's own `bot.yml`, under the path that the repository's has
    base: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, str]) -> Sources:
        """Tell the base's files from the repository's own."""
        own = {path: text for path, text in files.items() if path.startswith(".github/")}
        base = {path.partition(":")[2]: path for path in files if path not in own}
        if not base:
            return cls(own)
        names = {path: name for path, name in base.items() if path not in own}
        return cls({**{path: files[name] for path, name in names.items()}, **own}, names, base)

    def name(self, path: str) -> str:
        """What a file is called."""
        return self.names.get(path, path)

    def is_base(self, mark: Mark) -> bool:
        """Whether something was written in the base."""
        return bool(self.base) and not mark.file.startswith(".github/")


def merged(own: Document, files: Mapping[str, str], sources: Sources, findings: Findings) -> Document | None:
    """The repository's `bot.yml` over its base's; itself where it extends none; None with findings."""
    wanted = _said(own)
    if wanted is None:
        return own  # a value of another form is found when the shape is checked
    name = sources.base.get(own.file)
    if name is None:
        hint = f"`threadsmith validate --base PATH` reads it from a checkout of `{wanted.owner}/{REPOSITORY}`"
        findings.error(wanted.mark, "extends", f"`{wanted.source}` was not read, or has no `{own.file}`", hint)
        return None
    base = load_yaml(name, files[name], findings)
    if base is None:
        return None
    if not isinstance(base.data, dict):
        findings.error(Mark(name), "type_mismatch", "`bot.yml` is a mapping", "it begins with `version: 1`")
        return None
    if KEY in base.data:
        message = "a base does not extend another"
        findings.error(base.key_mark((KEY,)), "extends", message, "let it hold everything, or extend the other one")
        return None
    return merge_base(base, own)


def merge_base(base: Document, own: Document) -> Document:
    """One document whose places are those of the file that each part came from."""
    return _Merged(own.file, own.text, _over(own.data, base.data), own.root, own, base)


def _over(own: Any, base: Any) -> Any:
    if not (isinstance(own, dict) and isinstance(base, dict)):
        return own
    return {**base, **{key: _over(value, base[key]) if key in base else value for key, value in own.items()}}


@dataclass(frozen=True, slots=True)
class _Merged(Document):
    own: Document
    base: Document

    def value(self, path: Path) -> tuple[int, int]:
        return self._of(path).value(path)

    def key(self, path: Path) -> tuple[int, int]:
        return self._of(path).key(path)

    def mark(self, path: Path) -> Mark:
        return self._of(path).mark(path)

    def key_mark(self, path: Path) -> Mark:
        return self._of(path).key_mark(path)

    def token_marks(self, path: Path, text: str) -> Callable[[int], Mark]:
        return self._of(path).token_marks(path, text)

    def text_marks(self, path: Path, text: str) -> Callable[[int], Mark]:
        return self._of(path).text_marks(path, text)

    def _of(self, path: Path) -> Document:
        """The document that has the last word on a path: the own one as far as it goes."""
        own, base = self.own.data, self.base.data
        for part in path:
            if not (isinstance(own, dict) and isinstance(base, dict)):
                return self.own
            if part not in own:
                return self.base if part in base else self.own
            if part not in base:
                return self.own
            own, base = own[part], base[part]
        return self.own
