"""The instance's database, for commands that look into it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bot.cli.console import settings
from bot.errors import OperatorError
from bot.settings import Settings
from bot.store import Session, Store, open_store

T = TypeVar("T")


def opened(found: Settings) -> Store:
    """The database of the settings; a running `serve` may use it too. Raises `OperatorError` where there is none."""
    path = found.database.removeprefix("sqlite:///")
    if found.database.startswith("sqlite") and not Path(path).is_file():
        raise OperatorError(f"there is no database at {path}", "set BOT_DATA_DIR to the folder that `serve` uses")
    return open_store(found.database)


def look(work: Callable[[Session], T], *, write: bool = False) -> T:
    """Run `work` on the database of the settings. A running `serve` may go on meanwhile."""
    found, _ = settings()

    async def go() -> T:
        store = opened(found)
        try:
            return await (store.write(work) if write else store.read(work))
        finally:
            await store.close()

    return asyncio.run(go())
