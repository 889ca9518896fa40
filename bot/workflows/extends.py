"""`extends: owner/.github@ref`: an organisation's configuration below a repository's own.

Keys of the repository win, lists replace, mappings merge at every depth. Of the base come its `bot.yml` and its files
below `.github/bot/`; where both have a path, the repository's own is read. A base does not extend another.

Among a repository's files those of the base stand under `owner/.github@ref:<path>`, which is also what findings call
them; the repository's own paths begin with `.github/`, so neither can be taken for the other. Pure: whoever reads the
files puts them there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from bot.workflows.document import Document, Spot
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
    return Document(own.file, own.text, *_over(own.data, own.root, base.data, base.root))


def _over(own: Any, own_spot: Spot, base: Any, base_spot: Spot) -> tuple[Any, Spot]:
    if not (isinstance(own, dict) and isinstance(base, dict)):
        return own, own_spot
    data, spots = dict(base), dict(base_spot.children)
    for key, value in own.items():
        here = own_spot.children[key]
        both = key in base
        data[key], spots[key] = _over(value, here, base[key], base_spot.children[key]) if both else (value, here)
    return data, replace(own_spot, children=spots)
