"""A deleted comment's text is purged at once: from versions, deliveries, and the dispatch it asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from bot.engine.upkeep import Upkeep
from bot.model.clock import SystemClock
from bot.store import Session
from bot.store.sweep import Sweeper
from tests.databases import DATABASES, on_both
from tests.stage import Stage
from tests.store.house import words_in


@on_both
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


async def test_what_a_run_made_of_a_deleted_comment_goes_with_it(stage: Stage) -> None:
    """An agent saw it: prompt, answer and what the bot said that quotes it are nowhere; the run can be begun anew."""
    gone = await stage.says("sam", "It also crashes with forget-these-words")
    await stage.says("ana", "@bot helper keep-these-words")
    assert {"blob.data", "commentversion.body"} <= await stage.bot.store.read(_holding("forget-these-words"))
    stage.world.delete_comment(gone.id, "sam")
    await stage.settle()
    async with asyncio.timeout(20):
        while "blob.data" in await stage.bot.store.read(_holding("forget-these-words")):
            await asyncio.sleep(0.01)
    assert await stage.bot.store.read(_holding("forget-these-words")) == set()
    assert "dispatch.request" in await stage.bot.store.read(_holding("keep-these-words"))
    await stage.says("ana", "@bot why r1")
    assert stage.replies()[-1].endswith("What r1 saw is kept no longer.")
    await stage.says("ana", "@bot retry r1 from helper")
    assert "what r1 came to before `helper` is kept no longer" in stage.replies()[-1]
    await stage.says("ana", "@bot retry r1")
    assert "keep-these-words" in stage.replies()[-1]


async def test_after_its_time_a_run_says_that_it_is_gone(stage: Stage) -> None:
    """Nothing of it can be shown or tried again; that it was is still known, and new requests find their thread."""
    await stage.says("ana", "@bot helper forget-these-words")
    later = Later()
    await Upkeep(stage.bot.store, later, 30, Sweeper(stage.bot.store, later)).retain()
    assert await stage.bot.store.read(_holding("forget-these-words")) == set()
    for asked, told in (
        ("why", "What the runs of this thread saw is kept no longer."),
        ("retry", "what was asked for in r1 is kept no longer"),
        ("status", "The last was r1 `helper`: succeeded."),
    ):
        await stage.says("ana", f"@bot {asked}")
        assert told in stage.replies()[-1]
    await stage.says("ana", "@bot helper and now?")
    assert "r2" in stage.replies()[-1]


class Later(SystemClock):
    """A clock of two months from now, in which nobody waits."""

    def now(self) -> datetime:
        return super().now() + timedelta(days=60)

    async def sleep(self, seconds: float) -> None:
        return None


def _holding(words: str) -> Callable[[Session], set[str]]:
    return lambda session: words_in(session, words)
