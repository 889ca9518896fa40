"""A file of a workspace, read without following anything out of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from bot.context.sources import Unavailable
from bot.workspace.capture import Capture


def read_file(workspace: Path, path: str, limit: int) -> Capture:
    """Head and tail of the file at `path` (relative to `workspace`), however long it is.

    Raises Unavailable for a path outside, one that leads over a symbolic link, and what is no file.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or not parts or "\0" in path:
        raise Unavailable(f"`{path}` leads out of the workspace")
    folder = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = _open(part, os.O_DIRECTORY, folder, path)
            os.close(folder)
            folder = inner
        # without blocking: nobody may be at the other end of a pipe
        file = _open(parts[-1], os.O_NONBLOCK, folder, path)
    finally:
        os.close(folder)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise Unavailable(f"`{path}` is no file")
        return _ends(file, found.st_size, limit)
    finally:
        os.close(file)


def _open(name: str, flags: int, folder: int, path: str) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    except FileNotFoundError:
        raise Unavailable(f"there is no file `{path}` in the workspace") from None
    except OSError as error:
        link = stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode) if _there(name, folder) else False
        reason = "leads over a symbolic link" if link else f"cannot be read: {os.strerror(error.errno or 0)}"
        raise Unavailable(f"`{path}` {reason}") from None


def _there(name: str, folder: int) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except OSError:
        return False
    return True


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
