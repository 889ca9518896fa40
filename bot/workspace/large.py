"""Values of the environment that no process can be given: they travel in files."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bot.workspace.process import Command

#: bytes of one variable; Linux refuses a string from 128 KiB on (execve(2), MAX_ARG_STRLEN), its name included
VALUE_MAX = 100 * 1024


@asynccontextmanager
async def with_large_values(command: Command) -> AsyncIterator[Command]:
    """The command with every variable above `VALUE_MAX` as a file, whose path stands in `<NAME>_FILE` instead.

    The files lie in a folder of their own outside the workspace, which the command may read, and are gone afterwards.
    """
    large = {name: data for name, value in command.env.items() if len(data := _bytes(value)) > VALUE_MAX}
    if not large:
        yield command
        return
    folder = await asyncio.to_thread(_written, large)
    try:
        kept = {name: value for name, value in command.env.items() if name not in large}
        paths = {f"{name}_FILE": str(folder / name) for name in large}
        yield replace(command, env={**kept, **paths}, readable=(*command.readable, folder))
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _written(large: Mapping[str, bytes]) -> Path:
    # commands are given real paths; on some systems the temporary folder is a link
    folder = Path(tempfile.mkdtemp(prefix="threadsmith-values-", dir=os.path.realpath(tempfile.gettempdir())))
    for name, data in large.items():
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    return folder


def _bytes(value: str) -> bytes:
    """As a process would be given it: surrogates that stand for undecodable bytes (PEP 383) stay, others become `?`."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace")
