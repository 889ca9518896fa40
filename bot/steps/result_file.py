"""Where a command leaves its result: a file in a folder of its own, outside the workspace."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

#: bytes read at most; a result that is larger does not fit in any case
READ_MAX = 1024 * 1024


@asynccontextmanager
async def result_file() -> AsyncIterator[Path]:
    """The path of a file that is not there yet. Its folder is new, the command's to write, and gone afterwards."""
    folder = await asyncio.to_thread(_folder)
    try:
        yield folder / "result.json"
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _folder() -> Path:
    # commands are given real paths; on some systems the temporary folder is a link
    return Path(tempfile.mkdtemp(prefix="threadsmith-result-", dir=os.path.realpath(tempfile.gettempdir())))


def read_result(path: Path) -> str | None:
    """What the command left; None without a file. Links, pipes and devices are none: a child may have made them."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(READ_MAX + 1).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
