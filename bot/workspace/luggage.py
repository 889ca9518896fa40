"""What steps left in a clone beside the commit's own files, as bytes: another machine goes on with it.

A gzipped tar of files, links and folders, sorted, without owners. Only the tree itself is read, never what a link leads
to, and what is written goes through no link either: a child made the tree, and names may be anything.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from bot.workspace.files import Unreadable, make_folder, make_link, write_file

#: bytes of all files together, which is what one blob holds, and entries: more stays on the machine
MOST_BYTES = 64 * 1024 * 1024
MOST_ENTRIES = 50_000

#: the engine's own folder, made anew from rows, and git's
_OURS = frozenset({".bot", ".git"})


class TooMuch(Exception):
    """There is more than is carried."""


def mark_of(root: Path, tracked: Collection[str]) -> str:
    """What tells one state of what would be packed from another; empty where there is nothing. Raises OSError."""
    digest = hashlib.sha256()
    anything = False
    for path, info in _entries(root, tracked):
        anything = True
        facts = (path, info.st_mode, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        digest.update(repr(facts if not stat.S_ISDIR(info.st_mode) else facts[:2]).encode("utf-8", "surrogateescape"))
    return digest.hexdigest() if anything else ""


def pack(root: Path, tracked: Collection[str]) -> bytes:
    """Everything below `root` that is not `tracked` (paths of the commit's files). Raises TooMuch and OSError."""
    out = io.BytesIO()
    left, entries = MOST_BYTES, 0
    with (
        gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar,
    ):
        for path, info in _entries(root, tracked):
            entry = tarfile.TarInfo(path)
            entry.mode, entry.mtime = stat.S_IMODE(info.st_mode), int(info.st_mtime)
            entries += 1
            if entries > MOST_ENTRIES:
                raise TooMuch
            if stat.S_ISDIR(info.st_mode):
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            elif stat.S_ISLNK(info.st_mode):
                with suppress(FileNotFoundError):
                    entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(root / path)
                    tar.addfile(entry)
            elif (content := _content(root, path, left)) is not None:
                left -= len(content)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def unpack(root: Path, data: bytes) -> None:
    """Put what was packed into a fresh clone. What the commit has a link in the way of is left out. Raises OSError."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz", errors="surrogateescape") as tar:
        for entry in tar:
            with suppress(Unreadable):
                if entry.isdir():
                    make_folder(root, entry.name)
                elif entry.issym():
                    make_link(root, entry.name, entry.linkname)
                elif (file := tar.extractfile(entry)) is not None:
                    write_file(root, entry.name, file.read(), mode=entry.mode & 0o777)


def _entries(root: Path, tracked: Collection[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Path and facts of everything that is not tracked, folders before what is in them, sorted."""
    # a folder of the commit's files comes with them
    theirs = {parent.as_posix() for path in tracked for parent in PurePosixPath(path).parents}
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue  # a process of another step takes it away, or made it so that nobody may look
        inner = []
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path in _OURS or path in tracked:
                continue
            try:
                info = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISDIR(info.st_mode):
                inner.append(path)
                if path in theirs:
                    continue
            if stat.S_ISDIR(info.st_mode) or stat.S_ISLNK(info.st_mode) or stat.S_ISREG(info.st_mode):
                yield path, info
        folders += reversed(inner)


def _content(root: Path, path: str, most: int) -> bytes | None:
    """A file's bytes; None where it is gone by now, or may not be read. Raises TooMuch above `most`."""
    try:
        descriptor = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise TooMuch
    return content
