"""`list_files`, `search_files`: many files of the workspace."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from bot.runners import ToolAnswer
from bot.steps.tools.root import Entry, Refused, Root, open_file, parts_of, shown

#: entries of one answer
LISTED_MAX = 2000
#: lines of one answer, and characters of each
FOUND_MAX = 200
LINE_MAX = 300
#: bytes of a file that is searched; larger ones are data
FILE_MAX = 2 * 1024 * 1024
#: bytes and seconds of one search
TOTAL_MAX = 256 * 1024 * 1024
SECONDS_MAX = 20.0
#: bytes at the beginning in which a NUL means that the file is no text
_SNIFFED = 8192


async def list_files(root: Root, arguments: dict[str, Any]) -> ToolAnswer:
    """One line an entry: folders end with `/`, files say their size, links where they lead. Raises Refused."""
    path, recursive = arguments.get("path", ""), bool(arguments.get("recursive"))
    return ToolAnswer(await asyncio.to_thread(_list, root, path, recursive))


def _list(root: Root, path: str, recursive: bool) -> str:
    lines: list[str] = []
    with closing(root.walk(parts_of(path), recursive=recursive)) as entries:
        for entry in entries:
            if len(lines) == LISTED_MAX:
                lines.append(f"[… more than {LISTED_MAX:,} entries; the rest is left out …]")
                break
            lines.append(_line(entry))
    return "\n".join(lines) if lines else "[the folder is empty]"


def _line(entry: Entry) -> str:
    path = shown(entry.path)
    if entry.is_folder:
        return f"{path}/"
    if entry.is_link:
        try:
            return f"{path} -> {shown(os.readlink(entry.name, dir_fd=entry.folder))}"
        except OSError:
            return f"{path} (a link)"
    return f"{path} ({entry.info.st_size:,} bytes)" if entry.is_file else f"{path} (no ordinary file)"


@dataclass(slots=True)
class _Search:
    """One search: what is looked for, and what was left out."""

    text: str
    ignore_case: bool
    ends: float
    read: int = 0
    large: int = 0

    def hits(self, entry: Entry) -> Iterator[tuple[int, str]]:
        """Number and text of each line that has it; nothing of what is no text, too large or gone meanwhile."""
        if entry.info.st_size > FILE_MAX:
            self.large += 1
            return
        try:
            with open_file(entry.folder, entry.name, entry.path) as descriptor:
                raw = _all(descriptor)
        except (Refused, OSError):
            return
        self.read += len(raw)
        if b"\0" in raw[:_SNIFFED]:
            return
        text = raw.decode("utf-8", "replace")
        wanted = self.text.casefold() if self.ignore_case else self.text
        for number, line in enumerate(text.split("\n"), 1):
            if wanted in (line.casefold() if self.ignore_case else line):
                yield number, line

    @property
    def over(self) -> bool:
        return self.read > TOTAL_MAX or time.monotonic() > self.ends


def _all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(FILE_MAX)


async def search_files(root: Root, arguments: dict[str, Any]) -> ToolAnswer:
    """`path:line: text` of each line that holds the text, with marks for all that was left out. Raises Refused."""
    return ToolAnswer(await asyncio.to_thread(_search, root, arguments))


def _search(root: Root, arguments: dict[str, Any]) -> str:
    if "\n" in arguments["text"]:
        raise Refused("lines are searched one by one; look for a text without line breaks")
    search = _Search(arguments["text"], bool(arguments.get("ignore_case")), time.monotonic() + SECONDS_MAX)
    name = arguments.get("files", "*")
    lines: list[str] = []
    marks: list[str] = []
    with closing(_files(root, parts_of(arguments.get("path", "")))) as entries:
        for entry in entries:
            if search.over:
                marks.append("[… the search took too long and stopped; look in a folder …]")
                break
            if not fnmatchcase(entry.name, name):
                continue
            room = FOUND_MAX - len(lines)
            hits = islice(search.hits(entry), room + 1)
            lines += [f"{shown(entry.path)}:{number}: {_short(line)}" for number, line in hits]
            if len(lines) > FOUND_MAX:
                lines.pop()
                marks.append(f"[… more than {FOUND_MAX} lines have it; the rest is left out …]")
                break
    if search.large:
        files = "1 file" if search.large == 1 else f"{search.large} files"
        marks.append(f"[… {files} above {FILE_MAX:,} bytes left out …]")
    return "\n".join([*(lines or ["[no line has it]"]), *marks])


def _files(root: Root, parts: tuple[str, ...]) -> Generator[Entry, None, None]:
    """The files below a path, or the file that it is."""
    if parts:
        with root.folder(parts[:-1]) as folder:
            try:
                info = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
            except OSError:
                raise Refused(f"there is no `{shown('/'.join(parts))}`") from None
            only = Entry("/".join(parts), parts[-1], folder, info)
            if only.is_file:
                yield only
                return
    for entry in root.walk(parts, recursive=True):
        if entry.is_file:
            yield entry


def _short(line: str) -> str:
    line = line.rstrip("\r")
    return line if len(line) <= LINE_MAX else f"{line[:LINE_MAX]} […]"
