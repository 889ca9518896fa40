"""A deleted comment's text is purged at once: from versions, deliveries, and the dispatch it asked for."""

from __future__ import annotations

from pathlib import Path

from tests.databases import DATABASES
from tests.stage import Stage


async def test_a_deleted_comment_is_in_no_delivery_and_no_dispatch(stage: Stage, tmp_path: Path) -> None:
    """The rows stay, the words go; other comments keep theirs."""
    gone = await stage.says("ana", "@bot two forget-these-words")
    await stage.says("ana", "keep-these-words")
    stage.world.delete_comment(gone.id, "ana")
    await stage.settle()
    kept = {
        f"{table}.{column}": str(DATABASES.rows(tmp_path / "data", f"SELECT {column} FROM {table}"))
        for table, column in (
            ("delivery", "body"),
            ("commentversion", "body"),
            ("dispatch", "request"),
            ("dispatch", "trigger"),
        )
    }
    found = {
        words: [place for place, text in kept.items() if words in text]
        for words in ("forget-these-words", "keep-these-words")
    }
    assert found["forget-these-words"] == []
    assert "delivery.body" in found["keep-these-words"]
