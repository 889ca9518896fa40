"""A real SQLite file for each test, copied from one that was migrated once: migrations take longer than most tests."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store import Store, open_store
from tests.workspace.conftest import isolated

__all__ = ["isolated", "migrated", "store"]


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty, migrated database in a file, to be copied."""
    file = tmp_path_factory.mktemp("migrated") / "bot.db"

    async def made() -> None:
        await open_store(f"sqlite:///{file}").close()

    asyncio.run(made())
    return file


@pytest.fixture
async def store(tmp_path: Path, migrated: Path) -> AsyncIterator[Store]:
    """An empty, migrated database in a file."""
    shutil.copy(migrated, tmp_path / "bot.db")
    opened = open_store(f"sqlite:///{tmp_path / 'bot.db'}")
    yield opened
    await opened.close()
