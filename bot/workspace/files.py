"""A file of a workspace, read and written without following anything out of it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from bot.workspace.capture import Capture


class Unreadable(Exception):
    """A path is no file of the workspace; the text says why."""


def read_file(workspace: Path, path: str, limit: int) -> Capture:
    """Head and tail of the file at `path` (relative to `workspace`), however long it is.

    Raises Unreadable for a path outside, one that leads over a symbolic link, and what is no file.
    """
    folder, name = _folder(workspace, path)
    try:
        # without blocking: nobody may be at the other end of a pipe
        file = _open(name, os.O_RDONLY | os.O_NONBLOCK, folder, path)
    finally:
        os.close(folder)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable(f"`{path}` is no file")
        return _ends(file, found.st_size, limit)
    finally:
        os.close(file)


def write_file(workspace: Path, path: str, content: bytes, *, force: bool = False, mode: int = 0o600) -> None:
    """Put a file at `path`, with that mode, in folders of mode 0700, in place of what was there.

    Raises Unreadable where a folder on the way is a symbolic link or no folder, or a folder is where the file belongs;
    with `force` the link or file goes, and the folder is put aside.
    """
    folder, name = _folder(workspace, path, make=True, force=force)
    try:
        new = f".{name}.{token_hex(8)}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(new, flags, 0o600, dir_fd=folder)
        with os.fdopen(file, "wb") as out:
            out.write(content)
            os.fchmod(file, mode)
        try:
            # a link or a file in its place is replaced, never followed
            _rename(new, name, folder, force)
        except OSError as error:
            os.unlink(new, dir_fd=folder)
            raise Unreadable(f"`{path}` cannot be written: {os.strerror(error.errno or 0)}") from None
    finally:
        os.close(folder)


def make_folder(workspace: Path, path: str) -> None:
    """Make a folder, mode 0700, unless there is one. Raises Unreadable as `write_file` does."""
    folder, _ = _folder(workspace, f"{path}/x", make=True)
    os.close(folder)


def make_link(workspace: Path, path: str, target: str) -> None:
    """Make a symbolic link, whatever it leads to, unless something is there. Raises Unreadable as `write_file` does."""
    folder, name = _folder(workspace, path, make=True)
    try:
        with suppress(FileExistsError):
            os.symlink(target, name, dir_fd=folder)
    finally:
        os.close(folder)


def _rename(new: str, name: str, folder: int, force: bool) -> None:
    try:
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        if not force:
            raise
        # removing a folder that a child made could take for ever
        os.rename(name, f".{name}.{token_hex(8)}.old", src_dir_fd=folder, dst_dir_fd=folder)
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)


def _folder(workspace: Path, path: str, *, make: bool = False, force: bool = False) -> tuple[int, str]:
    """The folder that holds the file at `path`, open, and the file's name in it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or not parts or "\0" in path:
        raise Unreadable(f"`{path}` leads out of the workspace")
    folder = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            if force and not _is_folder(part, folder):
                with suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=folder)
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=folder)
            inner = _open(part, os.O_RDONLY | os.O_DIRECTORY, folder, path)
            os.close(folder)
            folder = inner
    except BaseException:
        os.close(folder)
        raise
    return folder, parts[-1]


def _open(name: str, flags: int, folder: int, path: str) -> int:
    try:
        return os.open(name, os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    except FileNotFoundError:
        raise Unreadable(f"there is no file `{path}` in the workspace") from None
    except OSError as error:
        reason = f"cannot be read: {os.strerror(error.errno or 0)}"
        if _is_link(name, folder):
            reason = "leads over a symbolic link"
        raise Unreadable(f"`{path}` {reason}") from None


def _is_folder(name: str, folder: int) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode)
    except OSError:
        return False


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    except OSError:
        return False


def _ends(file: int, size: int, limit: int) -> Capture:
    """Both ends of a file; what lies between is counted, not read."""
    capture = Capture(limit)
    if size <= limit:
        capture.feed(_read(file, limit, 0))
        return capture
    room = limit - limit // 2
    capture.feed(_read(file, room, 0))
    capture.size = size - limit // 2
    capture.feed(_read(file, limit // 2, size - limit // 2))
    return capture


def _read(file: int, count: int, offset: int) -> bytes:
    data = bytearray()
    while len(data) < count and (chunk := os.pread(file, count - len(data), offset + len(data))):
        data += chunk
    return bytes(data)
