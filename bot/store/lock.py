"""One process a database: a lock on a file beside it, which goes with the process, however that ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from bot.errors import OperatorError
from bot.store.folder import make_folder


def hold(file: Path, what: str) -> int:
    """Make this process the only one on `what`; returns the descriptor that holds it.

    Raises `OperatorError` where another process has it, and where the folder cannot be used.
    """
    try:
        make_folder(file.parent)
        handle = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OperatorError(f"cannot use {what}: {error.strerror}", "check BOT_DATA_DIR and its permissions") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise OperatorError(
            f"another process uses {what}", "stop it, or give this one a BOT_DATA_DIR of its own"
        ) from error
    return handle
