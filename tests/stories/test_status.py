"""While it works: one status comment, edited, that ends as a line which leads to what came of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.stage import Stage, open_stage
from tests.stories.test_builtins import SLOW


async def until(stage: Stage, number: int, words: str) -> str:
    """The first comment of the bot's that has these words."""
    async with asyncio.timeout(30):
        while True:
            found = [body for body in stage.replies(number) if words in body]
            if found:
                return found[0]
            await asyncio.sleep(0.01)


async def test_a_long_run_tells_that_it_works_and_where_its_end_stands(tmp_path: Path) -> None:
    """The result is a comment of its own, so that people are notified; the status stays above it."""
    async with open_stage(tmp_path, {".github/bot.yml": SLOW}, status=(0.1, 0.1)) as stage:
        stage.world.comment(stage.repo, 1, "ana", "@bot slow")
        told = await until(stage, 1, "⏳")
        assert told == "r1 `slow` · running 1 min\n\n⏳ slow\n\n<sub>`@bot cancel r1`</sub>"
        await stage.says("meg", "@bot cancel r1")
        closed = await until(stage, 1, "[see there]")
        await stage.settle()
        status, end = stage.replies()
        assert closed == status
        assert status.startswith("r1 `slow` · cancelled after ")
        assert end.startswith("r1 `slow` was cancelled by `meg`.")
        (_, last) = [c for c in stage.world.comments(stage.repo, 1) if c.author is stage.app.bot]
        assert f"#issuecomment-{last.id})" in status


async def test_a_short_run_leaves_its_result_alone(tmp_path: Path) -> None:
    """Nothing is told before the minute."""
    async with open_stage(tmp_path, status=(30.0, 0.1)) as stage:
        await stage.says("ana", "@bot hello")
        assert len(stage.replies()) == 1
