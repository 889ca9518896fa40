"""SQLite: the settings that make a commit durable."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from bot.store import Store


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_the_file_is_wal_and_every_commit_is_synced(store: Store) -> None:
    """`synchronous=FULL` (2) on the connection that writes, WAL on the file."""
    assert await store.write(lambda s: s.execute(text("PRAGMA synchronous")).scalar_one()) == 2
    assert await store.write(lambda s: s.execute(text("PRAGMA journal_mode")).scalar_one()) == "wal"
    assert await store.write(lambda s: s.execute(text("PRAGMA foreign_keys")).scalar_one()) == 1
