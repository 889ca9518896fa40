"""The repository's configuration at one commit, read with as few requests as can be: typically one for a new commit.

Trees and blobs are named by what they hold, so both are kept, and a commit that did not touch `.github` costs only the
listing of its root. Nothing is shared between repositories.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from bot.errors import ConfigurationError, Forbidden, NotFound
from bot.finding import Finding
from bot.github import parse
from bot.github.cache import Bounded
from bot.github.channel import Channel, read

FOLDER = ".github"
FILE = ".github/bot.yml"
TREE = ".github/bot"

MAX_FILE_BYTES = 256 * 1024
MAX_FILES = 500
MAX_BYTES = 4 * 1024 * 1024
_MAX_FOLDERS = 100
_MOST_TREES = 4096
_MOST_BLOB_BYTES = 16 * 1024 * 1024
_AT_ONCE = 6

_REFUSED = {
    "symlink": ("a symlink is not followed", "put the file itself here"),
    "submodule": ("a submodule is not read", "put the files themselves here"),
    "not_a_file": ("this is a folder", "the configuration is one file; more files go to `.github/bot/`"),
    "file_too_large": (f"larger than {MAX_FILE_BYTES // 1024} KiB", "split it, or move what no step needs elsewhere"),
    "too_many_files": (f"more than {MAX_FILES} files or {_MAX_FOLDERS} folders", "move what no step needs elsewhere"),
    "too_many_bytes": (f"more than {MAX_BYTES // 1024**2} MiB in all", "move what no step needs elsewhere"),
}


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    kind: Literal["file", "dir", "symlink", "submodule"]
    sha: str
    size: int | None


class ConfigurationReader:
    """Reads configurations, for all repositories, and keeps what it read within bounds."""

    def __init__(self) -> None:
        self._trees: Bounded[tuple[int, str, str], tuple[_Entry, ...]] = Bounded(_MOST_TREES)
        self._blobs: Bounded[tuple[int, str], bytes] = Bounded(_MOST_BLOB_BYTES)

    async def files(self, channel: Channel, commit: str) -> dict[str, bytes]:
        """Path → bytes. Raises ConfigurationError, with a finding for each thing refused; NotFound for no commit."""
        try:
            entries = await self._walk(channel, commit, by_contents=False)
        except NotFound:
            # no such commit, or a server without git trees: the contents API tells which
            entries = await self._walk(channel, commit, by_contents=True)
        files = [entry for entry in entries if entry.kind == "file"]
        findings = [_finding(e.path, "not_a_file" if e.kind == "dir" else e.kind) for e in entries if e.kind != "file"]
        _refuse(findings + _oversized({entry.path: entry.size or 0 for entry in files}))
        texts = await self._fetch(channel, commit, files)
        # some servers do not tell sizes in listings
        _refuse(_oversized({path: len(text) for path, text in texts.items()}))
        return texts

    async def _walk(self, channel: Channel, commit: str, *, by_contents: bool) -> list[_Entry]:
        """Every wanted file, and everything found in place of one; folders that were walked are left out."""
        found: list[_Entry] = []
        walked = 0
        folders = [_Entry(FOLDER if by_contents else "", "dir", commit, None)]
        while folders:
            folder = folders.pop()
            walked += 1
            if by_contents:
                listing = await self._contents(channel, commit, folder.path)
            else:
                listing = await self._tree(channel, folder)
            for entry in listing:
                if entry.kind == "dir" and entry.path != FILE:
                    folders.append(entry)
                elif entry.path != FOLDER or entry.kind != "file":
                    found.append(entry)
            if len(found) > MAX_FILES or walked + len(folders) > _MAX_FOLDERS:
                _refuse([_finding(TREE, "too_many_files")])
        return sorted(found, key=lambda entry: entry.path)

    async def _tree(self, channel: Channel, folder: _Entry) -> tuple[_Entry, ...]:
        """One folder by the SHA of its tree, or the root by that of a commit.

        Source: https://docs.github.com/en/rest/git/trees#get-a-tree. Not recursive: a large repository's whole tree is
        megabytes, and cut off without saying where.
        """
        key = (channel.repository.id, folder.sha, folder.path)
        known = self._trees.get(key)
        if known is not None:
            return known
        try:
            response = await channel.get(f"/git/trees/{quote(folder.sha, safe='')}", kind="tree")
        except Forbidden as error:
            if error.status in (409, 422):  # empty repository; not a SHA
                raise NotFound(str(error)) from None
            raise
        listing = tuple(_wanted(read(response, lambda body: _from_tree(body["tree"], folder.path))))
        self._trees.put(key, listing)
        return listing

    async def _contents(self, channel: Channel, commit: str, path: str) -> tuple[_Entry, ...]:
        """One folder by its path. Source: https://docs.github.com/en/rest/repos/contents#get-repository-content"""
        try:
            response = await channel.get(f"/contents/{quote(path)}", kind="contents", params={"ref": commit})
        except NotFound as error:
            if "No commit found" in str(error):
                raise
            return ()
        return tuple(_wanted(read(response, _from_contents)))

    async def _fetch(self, channel: Channel, commit: str, entries: list[_Entry]) -> dict[str, bytes]:
        """The bytes of all files, a few requests at once."""
        free = asyncio.Semaphore(_AT_ONCE)

        async def one(entry: _Entry) -> bytes:
            async with free:
                return await self._blob(channel, commit, entry)

        texts = await asyncio.gather(*map(one, entries), return_exceptions=True)
        out: dict[str, bytes] = {}
        for entry, text in zip(entries, texts, strict=True):
            if isinstance(text, BaseException):
                raise text
            out[entry.path] = text
        return out

    async def _blob(self, channel: Channel, commit: str, entry: _Entry) -> bytes:
        key = (channel.repository.id, entry.sha)
        known = self._blobs.get(key) if entry.sha else None
        if known is not None:
            return known
        try:
            response = await channel.get(f"/git/blobs/{quote(entry.sha, safe='')}", kind="blob")
        except NotFound:
            # a server without git objects
            response = await channel.get(f"/contents/{quote(entry.path)}", kind="blob", params={"ref": commit})
        text = read(response, _decoded)
        if entry.sha:
            self._blobs.put(key, text, weight=len(text) + 1)
        return text


def _wanted(entries: Iterable[_Entry]) -> Iterable[_Entry]:
    return (e for e in entries if e.path in (FOLDER, FILE) or (e.path == TREE and e.kind != "file") or _below(e.path))


def _below(path: str) -> bool:
    return path.startswith(f"{TREE}/")


def _from_tree(items: list[dict[str, Any]], folder: str) -> list[_Entry]:
    prefix = f"{folder}/" if folder else ""
    return [_Entry(prefix + item["path"], _tree_kind(item), str(item["sha"]), item.get("size")) for item in items]


def _tree_kind(item: dict[str, Any]) -> Literal["file", "dir", "symlink", "submodule"]:
    if item["type"] == "commit":
        return "submodule"
    if item["type"] == "tree":
        return "dir"
    return "symlink" if item.get("mode") == "120000" else "file"


def _from_contents(body: Any) -> list[_Entry]:
    # a folder is a list; a symlink, submodule or file in its place is one object
    items = body if isinstance(body, list) else [body]
    return [_Entry(item["path"], _contents_kind(item), str(item.get("sha") or ""), item.get("size")) for item in items]


def _contents_kind(item: dict[str, Any]) -> Literal["file", "dir", "symlink", "submodule"]:
    kind = item["type"]
    # listings call a submodule a file, for compatibility; its git address is a tree
    if kind == "submodule" or (kind == "file" and "/git/trees/" in (item.get("git_url") or "")):
        return "submodule"
    if kind == "dir":
        return "dir"
    return "symlink" if kind == "symlink" else "file"


def _decoded(body: Any) -> bytes:
    content, encoding = body["content"], body.get("encoding")
    if encoding == "base64":
        return base64.b64decode(content)
    if encoding == "utf-8":
        return str(content).encode()
    raise parse.Unreadable(f"blob: encoding {encoding!r}")


def _finding(path: str, code: str) -> Finding:
    message, hint = _REFUSED[code]
    return Finding(path, 1, 1, "error", code, message, hint)


def _oversized(sizes: dict[str, int]) -> list[Finding]:
    large = [_finding(path, "file_too_large") for path, size in sizes.items() if size > MAX_FILE_BYTES]
    if not large and sum(sizes.values()) > MAX_BYTES:
        return [_finding(TREE, "too_many_bytes")]
    return large


def _refuse(findings: Iterable[Finding]) -> None:
    found = sorted(findings)
    if found:
        raise ConfigurationError(found)
