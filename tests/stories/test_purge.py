"""A deleted comment's text is purged at once: from versions, deliveries, and the dispatch it asked for."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.stage import Stage


async def test_a_deleted_comment_is_in_no_delivery_and_no_dispatch(stage: Stage, tmp_path: Path) -> None:
    """The rows stay, the words go; other comments keep theirs."""
    gone = await stage.says("ana", "@bot two forget-these-words")
    await stage.says("ana", "keep-these-words")
    stage.world.delete_comment(gone.id, "ana")
    await stage.settle()
    database = sqlite3.connect(f"file:{tmp_path / 'data' / 'bot.db'}?mode=ro", uri=True)
    found = {}
    for words in ("forget-these-words", "keep-these-words"):
        found[words] = [
            table
            for table, column in (
                ("delivery", "body"),
                ("comment_version", "body"),
                ("commentversion", "body"),
                ("dispatch", "request"),
                ("dispatch", "trigger"),
            )
            if database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            and database.execute(f"SELECT 1 FROM {table} WHERE instr(CAST({column} AS TEXT), ?)", (words,)).fetchone()
        ]
    database.close()
    assert found["forget-these-words"] == []
    assert "delivery" in found["keep-these-words"]
