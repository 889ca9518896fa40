"""Bad days of GitHub's, seen from the thread: whatever goes wrong there, each request has one end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.demo.world import World
from tests.stage import open_stage

FILES = {".github/bot.yml": "version: 1\nworkflows:\n  go: {steps: [{id: it, run: echo done}]}\n"}


@pytest.mark.parametrize(
    "happens",
    [
        lambda world: world.faults.trickle(0.3, "POST", ".*/issues/1/comments"),
        lambda world: world.faults.trickle(0.3, "GET", ".*/permission"),
        lambda world: world.tokens.clear(),
        lambda world: world.faults.lose_reply("POST", ".*/issues/1/comments"),
        lambda world: world.faults.limited(world.now(), "POST", ".*/issues/1/comments"),
    ],
    ids=[
        "a slow answer to a post",
        "a slow answer to a question",
        "tokens that ended",
        "a lost answer",
        "a limit past",
    ],
)
async def test_one_end(tmp_path: Path, happens: Callable[[World], object]) -> None:
    """It comes, once, and nothing stays open."""
    async with open_stage(tmp_path, FILES, sandbox="off") as stage:
        # a token that is known, and one run before the trouble
        await stage.says("ana", "@bot go")
        happens(stage.world)
        asked = await stage.says("ana", "@bot go")
        assert len(stage.replies()) == 2
        assert stage.reactions(asked) == ["rocket"]
