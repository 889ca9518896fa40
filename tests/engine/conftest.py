"""A real SQLite file for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store import Store, open_store
from tests.workspace.conftest import isolated

__all__ = ["isolated", "store"]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """An empty, migrated database in a file."""
    opened = open_store(f"sqlite:///{tmp_path / 'bot.db'}")
    yield opened
    await opened.close()
