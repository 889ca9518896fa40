"""A folder that is there after a power loss, too."""

from __future__ import annotations

import os
from pathlib import Path


def make_folder(path: Path) -> None:
    """Make `path` and what it lies in, each name on the disk before this returns. Raises `OSError`.

    A file that was synced is lost all the same where the name of a folder above it was not: SQLite syncs the folder of
    its files, and nobody the folders above that. Source: fsync(2), *Calling fsync() does not necessarily ensure …*
    """
    if path.exists():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
