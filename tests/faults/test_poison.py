"""What ends the process that touches it is set aside and told; everything else goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.demo.deliveries import Deliverer
from bot.demo.server import LookAlikeServer
from tests.faults.process import BotProcess, free_port
from tests.stage import make_world

BOT_YML = """\
version: 1
workflows:
  go:
    steps:
      - {id: one, run: "echo fine", workspace: none}
  bad:
    steps:
      - {id: poison, run: "echo never", workspace: none}
"""


@dataclass
class Scene:
    """A bot that is started again whenever it ends, as a service manager does."""

    bot: BotProcess
    deliverer: Deliverer
    ends: list[int] = field(default_factory=list)

    async def kept_alive(self) -> None:
        while True:
            with suppress(AssertionError):  # it ended before it was ready
                await self.bot.start()
            assert self.bot.process is not None
            self.ends.append(await self.bot.process.wait())

    async def ask(self, number: int, body: str) -> None:
        """Said, and delivered as soon as the bot takes it."""
        self.bot.world.comment("acme/widgets", number, "ana", body)
        await self.deliverer.settle()
        made = self.bot.world.deliveries[-1]
        while made.attempts[-1].status_code != 202:
            await asyncio.sleep(0.05)
            await self.deliverer.redeliver(made.guid)

    async def says(self, number: int, text: str) -> None:
        await self.bot.until(lambda: any(text in each for each in self.bot.said(number)), 100)


@asynccontextmanager
async def scene(tmp_path: Path, poison: str) -> AsyncIterator[Scene]:
    world, repo, app, _ = make_world(tmp_path / "github", {".github/bot.yml": BOT_YML})
    world.open_issue(repo, "ana", "Another", "It crashes too.")
    bot = BotProcess(
        world, app, tmp_path / "data", free_port(), more={"POISON": poison, "BOT_SANDBOX": "off"},
        module="tests.faults.poison_serve",
    )  # fmt: skip
    async with LookAlikeServer(world), Deliverer(world, bot.webhook) as deliverer:
        play = Scene(bot, deliverer)
        manager = asyncio.create_task(play.kept_alive())
        try:
            while bot.process is None:
                await asyncio.sleep(0.01)
            yield play
        finally:
            manager.cancel()
            with suppress(asyncio.CancelledError):
                await manager
            await bot.stop()


@pytest.mark.parametrize(
    ("poison", "request_", "told", "most"),
    [
        ("perform poison", "@bot bad", "interrupted 3 times without progress", 3),
        # of the first end nobody knows over what it was
        ("hear hemlock", "@bot go hemlock", "left alone", 4),
        # nor where a reaction was under way beside it
        ("send fine", "@bot go", "ended three times while it sent it", 4),
    ],
)
async def test_set_aside_after_three(tmp_path: Path, poison: str, request_: str, told: str, most: int) -> None:
    """A step, a delivery, a comment that end the process: after three ends it is told, and another thread has its
    answer; nothing ends any more.
    """
    async with scene(tmp_path, poison) as play:
        await play.ask(1, request_)
        await play.says(1, told)
        ends = len(play.ends)
        assert 3 <= ends <= most
        assert set(play.ends) == {139}
        await play.ask(2, "@bot help")
        await play.says(2, "help")
        assert len(play.ends) == ends
        assert sum(told in each for each in play.bot.said(1)) == 1
