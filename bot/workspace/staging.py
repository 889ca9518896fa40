"""Files that a run is given: fetched or read once, checked, and put where every step finds them.

The staged file is `.bot/inputs/<name>` in the workspace: a plain file, mode 0600. What templates see of it is
`FileFacts.values`. Files of a workflow that `uses` runs are in a folder of their frame below it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bot.errors import Forbidden, NotFound
from bot.workflows import Declared, InputViolation
from bot.workspace.files import Unreadable, read_file, write_file

FOLDER = ".bot/inputs"
FILE_BYTES_MAX = 10 * 1024 * 1024
#: `bytes` of a longer file has no value
BYTES_SLOT_MAX = 1024 * 1024

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
)
#: kinds of text by ending: an own table, since Python's differs from version to version and the machine's besides
_TEXTS: Mapping[str, str] = {
    "css": "text/css",
    "csv": "text/csv",
    "htm": "text/html",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
    "md": "text/markdown",
    "svg": "image/svg+xml",
    "tsv": "text/tab-separated-values",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What lies at an address: `size` counts all of it, `content` is None where it is longer than was asked for."""

    content: bytes | None
    size: int


#: reads an attachment; raises NotFound for an address that is not GitHub's, and what GitHub's client raises
Fetch = Callable[[str], Awaitable[Fetched]]


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of a file of a run's inputs beside its content: as templates name it, and as rows keep it."""

    #: empty for a file of the repository
    url: str
    original_filename: str
    mime: str
    size_bytes: int
    sha256_hex: str

    def values(self, name: str, path: str, content: bytes | None = None) -> dict[str, str | int]:
        """What `inputs` holds of it, by flat key: `<name>` is the path, `<name>.<slot>` the rest.

        `bytes` is base64, there where the content is given and has up to 1 MiB; `url` is there for attachments alone.
        A slot that is not there has no value.
        """
        slots: dict[str, str | int] = {
            "path": path,
            "original_filename": self.original_filename,
            "mime": self.mime,
            "size_bytes": self.size_bytes,
            "sha256_hex": self.sha256_hex,
        }
        if self.url:
            slots["url"] = self.url
        if content is not None and len(content) <= BYTES_SLOT_MAX:
            slots["bytes"] = base64.b64encode(content).decode()
        return {name: path, **{f"{name}.{slot}": value for slot, value in slots.items()}}


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file of a run's inputs. `url` is empty for a file of the repository."""

    name: str
    content: bytes
    url: str
    original_filename: str
    mime: str

    @property
    def path(self) -> str:
        """Where it is in the workspace."""
        return f"{FOLDER}/{self.name}"

    @property
    def facts(self) -> FileFacts:
        """What is kept of it beside its content."""
        digest = hashlib.sha256(self.content).hexdigest()
        return FileFacts(self.url, self.original_filename, self.mime, len(self.content), digest)

    def values(self) -> dict[str, str | int]:
        """What `inputs` holds of it; see `FileFacts.values`."""
        return self.facts.values(self.name, self.path, self.content)


async def fetch_inputs(
    declared: Mapping[str, Declared], bound: Mapping[str, object], *, checkout: Path | None, fetch: Fetch
) -> tuple[tuple[StagedFile, ...], tuple[InputViolation, ...]]:
    """The files that a run's bound inputs name, and everything that is wrong with any of them (class `file`).

    `checkout` holds the repository at the run's commit, None where there is none. Raises Transient where GitHub gave
    no answer.
    """
    staged: list[StagedFile] = []
    violations: list[InputViolation] = []
    for name, one in declared.items():
        source = bound.get(name)
        if one.type != "file" or not isinstance(source, str):
            continue
        try:
            file = await _file(name, source, checkout, fetch)
            if reason := unaccepted(file.facts, one):
                raise Unreadable(reason)
        except Unreadable as error:
            violations.append(InputViolation(name, "file", f"`{name}`: {error}"))
        else:
            staged.append(file)
    return tuple(staged), tuple(violations)


def stage(workspace: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a workspace, by path, in place of what is there; links on the way go."""
    for path, content in files.items():
        write_file(workspace, path, content, force=True)


async def _file(name: str, source: str, checkout: Path | None, fetch: Fetch) -> StagedFile:
    if "://" not in source:
        if checkout is None:
            raise Unreadable("the repository is not checked out")
        capture = await asyncio.to_thread(read_file, checkout, source, FILE_BYTES_MAX)
        size, content = capture.size, capture.raw()
        original, url = source.rpartition("/")[2], ""
    else:
        try:
            fetched = await fetch(source)
        except (NotFound, Forbidden) as error:
            raise Unreadable(f"the attachment cannot be had ({error})") from None
        size, content = fetched.size, fetched.content or b""
        original, url = unquote(urlsplit(source).path).rstrip("/").rpartition("/")[2], source
    if size > FILE_BYTES_MAX:
        raise Unreadable(f"it has {size:,} bytes; {FILE_BYTES_MAX:,} are the most")
    if not content:
        raise Unreadable("it is empty")
    original = "".join(character for character in original if character.isprintable())[:255] or name
    return StagedFile(name, content, url, original, media_type(original, content))


def unaccepted(file: FileFacts, declared: Declared) -> str:
    """Why `accept` does not take a file; empty where it does."""
    if not declared.accept or any(_fits(one, file) for one in declared.accept):
        return ""
    wanted = ", ".join(f"`{one}`" for one in declared.accept)
    return f"`{file.original_filename}` is {file.mime}; accepted are {wanted}"


def _fits(accepted: str, file: FileFacts) -> bool:
    if accepted.startswith("."):
        return file.original_filename.lower().endswith(accepted.lower())
    kind, _, rest = accepted.partition("/")
    return file.mime.partition("/")[0] == kind if rest == "*" else file.mime == accepted.lower()


def media_type(name: str, content: bytes) -> str:
    """What a file is: by its content, and by its name only among kinds of text."""
    for magic, kind in _MAGIC:
        if content.startswith(magic):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    if "\0" in text:
        return "application/octet-stream"
    return _TEXTS.get(name.rpartition(".")[2].lower(), "text/plain")
