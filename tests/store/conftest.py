"""A real SQLite file for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.store import Store, open_store

NOW = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """An empty, migrated database in a file."""
    opened = open_store(f"sqlite:///{tmp_path / 'bot.db'}")
    yield opened
    await opened.close()
