"""A scene, and a real SQLite file, for each test that asks for one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store import Store, open_store
from tests.dispatch.scene import Scene, open_scene


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """An intake with ana (write), meg (maintain) and sam (read)."""
    async with open_scene(tmp_path) as opened:
        yield opened


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """An empty, migrated database in a file."""
    opened = open_store(f"sqlite:///{tmp_path / 'bot.db'}")
    yield opened
    await opened.close()
