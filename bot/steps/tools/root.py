"""The workspace's folder as tools reach it: by descriptors, one name after the other, never through a link.

A command that runs beside may swap a folder for a link between a check and its use. Nothing here checks a path and
then uses it: each name is opened within the folder that was opened before it, with O_NOFOLLOW (openat(2)), and what is
written is put in place by renaming within one open folder.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

#: git's own; a clone's settings and hooks are nobody's to read or write
_HIDDEN = ".git"
#: folders below each other; each holds a descriptor while it is walked
DEPTH_MAX = 64
#: entries of one folder that are looked at
ENTRIES_MAX = 20_000

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: a pipe that a command left there must not hold us up
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Refused(Exception):
    """A tool does not do what was asked; the text says why, for the model."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a folder holds. `path` is relative to the workspace, `folder` the open descriptor of where it lies."""

    path: str
    name: str
    folder: int
    info: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.info.st_mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.info.st_mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.info.st_mode)


def parts_of(path: str) -> tuple[str, ...]:
    """The names of a path below the workspace; none for the workspace itself. Raises Refused for any other path."""
    if path.startswith("/"):
        raise Refused(f"`{shown(path)}` is absolute; paths begin at the workspace, as `src/main.py`")
    if "\0" in path:
        raise Refused("a path cannot hold a NUL character")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in parts:
        raise Refused(f"`{shown(path)}` goes up with `..`; paths begin at the workspace and stay in it")
    if any(part.casefold() == _HIDDEN for part in parts):
        raise Refused(f"`{_HIDDEN}` is not for tools")
    return parts


def shown(path: str) -> str:
    """A path for people and models: bytes that are no text, and characters that move the cursor, as escapes."""
    text = path.encode("utf-8", "backslashreplace").decode()
    return "".join(one if one.isprintable() and one != "`" else f"\\x{ord(one):02x}" for one in text)


class Root:
    """The folder that tools stay in. All methods block; call them in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def folder(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        """The descriptor of a folder below the root; `make` makes what is missing. Raises Refused."""
        descriptor = os.open(self._path, _FOLDER)
        try:
            for at, part in enumerate(parts):
                if make:
                    with suppress(FileExistsError), _told(parts[: at + 1]):
                        os.mkdir(part, 0o755, dir_fd=descriptor)
                inner = _open(part, _FOLDER, descriptor, parts[: at + 1])
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def file(self, parts: tuple[str, ...]) -> Iterator[int]:
        """The descriptor of a file to read. Raises Refused for a folder, a link, a pipe, or where there is none."""
        if not parts:
            raise Refused("that is the workspace itself, not a file")
        with self.folder(parts[:-1]) as folder, open_file(folder, parts[-1], "/".join(parts)) as descriptor:
            yield descriptor

    def write(self, parts: tuple[str, ...], content: bytes) -> bool:
        """Put a file in place whole, or not at all; says whether there was one. Raises Refused."""
        if not parts:
            raise Refused("that is the workspace itself, not a file")
        with self.folder(parts[:-1], make=True) as folder:
            return put(folder, parts, content)

    def walk(self, parts: tuple[str, ...], *, recursive: bool) -> Generator[Entry, None, None]:
        """What lies in a folder, by name, folders before what is in them; links are told and never followed."""
        with self.folder(parts) as folder:
            yield from _entries(folder, parts, len(parts) + (DEPTH_MAX if recursive else 1))


@contextmanager
def open_file(folder: int, name: str, path: str) -> Iterator[int]:
    """The descriptor of a regular file within an open folder. Raises Refused for anything else."""
    descriptor = _open(name, _FILE, folder, (path,))
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise Refused(f"`{shown(path)}` is a folder")
        if not stat.S_ISREG(mode):
            raise Refused(f"`{shown(path)}` is no ordinary file")
        yield descriptor
    finally:
        os.close(descriptor)


def put(folder: int, parts: tuple[str, ...], content: bytes) -> bool:
    """Write beside and rename: whatever stands at the name is replaced itself, a link never followed."""
    name, path = parts[-1], "/".join(parts)
    before = _info(name, folder)
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise Refused(_why_not(name, folder, path, "is no ordinary file"))
    temporary = f".bot-{secrets.token_hex(8)}"
    with _told(parts):
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
        )
    try:
        with _told(parts):
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                # set-user-id bits and their like are not kept
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode) & 0o777 if before is not None else 0o644)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    return before is not None


def _entries(folder: int, parts: tuple[str, ...], depth: int) -> Iterator[Entry]:
    with os.scandir(folder) as found:
        # as many as are looked at; which of a larger folder does not matter
        names = sorted(entry.name for entry, _ in zip(found, range(ENTRIES_MAX), strict=False))
    for name in names:
        info = _info(name, folder)
        if info is None or name.casefold() == _HIDDEN:
            continue
        entry = Entry("/".join((*parts, name)), name, folder, info)
        yield entry
        if entry.is_folder and len(parts) + 1 < depth:
            try:
                inner = os.open(name, _FOLDER, dir_fd=folder)
            except OSError:  # swapped or closed to us meanwhile: it was told as it was
                continue
            try:
                yield from _entries(inner, (*parts, name), depth)
            finally:
                os.close(inner)


def _open(name: str, flags: int, folder: int, parts: tuple[str, ...]) -> int:
    path = "/".join(parts)
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        wanted = "is not a folder" if flags & os.O_DIRECTORY else "cannot be read"
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refused(_why_not(name, folder, path, wanted)) from None
        raise Refused(_reason(error, path)) from None


def _why_not(name: str, folder: int, path: str, otherwise: str) -> str:
    try:
        target = os.readlink(name, dir_fd=folder)
    except OSError:
        return f"`{shown(path)}` {otherwise}"
    return f"`{shown(path)}` is a symbolic link to `{shown(target)}`; links are not followed"


def _info(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


@contextmanager
def _told(parts: tuple[str, ...]) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise Refused(_reason(error, "/".join(parts))) from None


def _reason(error: OSError, path: str) -> str:
    match error.errno:
        case errno.ENOENT:
            return f"there is no `{shown(path)}`"
        case errno.EACCES | errno.EPERM:
            return f"`{shown(path)}` may not be opened"
        case errno.ENAMETOOLONG:
            return "the path is too long"
        case errno.ENOSPC | errno.EDQUOT:
            return "there is no room left on the disk"
    return f"`{shown(path)}`: {os.strerror(error.errno or 0)}"
