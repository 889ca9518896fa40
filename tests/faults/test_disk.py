"""The disk is full, or somebody else holds the database: nothing is acknowledged that is not kept, and it passes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bot.demo.deliveries import Deliverer
from tests.faults.disk import SmallDisk, why_not
from tests.faults.process import BotProcess, at_work, free_port
from tests.stage import make_world

THREADS = 4


@dataclass
class Scene:
    """Some threads, and a bot whose workflow `go` ends when it is let."""

    bot: BotProcess
    deliverer: Deliverer
    gate: Path

    async def ask(self, number: int) -> int:
        """Somebody asks; how the front door answered."""
        self.bot.world.comment("acme/widgets", number, "ana", "@bot go")
        await self.deliverer.settle()
        return self.bot.world.deliveries[-1].attempts[-1].status_code

    async def readiness(self) -> tuple[int, str]:
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"http://127.0.0.1:{self.bot.port}/readyz", timeout=20)
        return answer.status_code, str(answer.json()["faults"].get("database", ""))

    async def ready(self) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            while (await client.get(f"http://127.0.0.1:{self.bot.port}/readyz", timeout=20)).status_code != 200:
                await asyncio.sleep(self.bot.pause)

    async def goes_on(self) -> None:
        """What was not taken is sent again; then everybody has one result, and nothing was done twice."""
        for missed in [made for made in self.bot.world.deliveries if made.attempts[-1].status_code != 202]:
            assert (await self.deliverer.redeliver(missed.guid)).status_code == 202
        await self.bot.settled()
        assert len(self.bot.rows("SELECT id FROM attempt")) == THREADS
        for number in range(1, THREADS + 1):
            (only,) = self.bot.said(number)
            assert "done" in only
        assert self.bot.rows("SELECT DISTINCT number, state FROM attempt") == [(1, "success")]


@asynccontextmanager
async def scene(tmp_path: Path, bot_of: type[BotProcess], **more: str) -> AsyncIterator[Scene]:
    gate = tmp_path / "go"
    command = f"until [ -e {gate} ]; do sleep 0.02; done; echo done"
    steps = f"version: 1\nworkflows:\n  go:\n    steps:\n      - {{id: it, run: '{command}', workspace: none}}\n"
    world, repo, app, _ = make_world(tmp_path / "github", {".github/bot.yml": steps})
    for number in range(2, THREADS + 1):
        world.open_issue(repo, "ana", f"Crash {number}", "It crashes.")
    bot = bot_of(world, app, tmp_path / "data", free_port(), more={"BOT_SANDBOX": "off", **more})
    async with at_work(bot, timeout=30) as deliverer:
        yield Scene(bot, deliverer, gate)


async def test_a_full_disk(tmp_path: Path) -> None:
    """503 at the door, the same in `/readyz`; what a worker holds waits, and all goes on once there is room."""
    if reason := why_not():
        pytest.skip(reason)
    async with scene(tmp_path, SmallDisk) as play:
        assert isinstance(play.bot, SmallDisk)
        assert await play.ask(1) == 202
        await play.bot.until(lambda: play.bot.rows("SELECT state FROM attempt") == [("running",)])
        play.bot.fill()
        assert [await play.ask(number) for number in range(2, THREADS + 1)] == [503] * (THREADS - 1)
        assert await play.readiness() == (503, "the database refuses: database or disk is full")
        play.gate.touch()
        assert play.bot.rows("SELECT state FROM attempt") == [("running",)]
        await play.bot.make_room()
        await play.ready()
        await play.goes_on()


async def test_a_database_that_somebody_else_holds(tmp_path: Path) -> None:
    """Longer than anybody waits for it: 503 before GitHub gives up, and it passes."""
    async with scene(tmp_path, BotProcess) as play:
        assert await play.ask(1) == 202
        await play.bot.until(lambda: play.bot.rows("SELECT state FROM attempt") == [("running",)])
        with closing(sqlite3.connect(play.bot.folder / "bot.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            play.gate.touch()
            assert await play.ask(2) == 503
            assert play.bot.world.deliveries[-1].attempts[-1].duration < 10
            status, why = await play.readiness()
            assert (status, why) in [
                (503, "it took no write within 3 s"),
                (503, "the database refuses: database is locked"),
            ]
            other.execute("ROLLBACK")
        for number in range(3, THREADS + 1):
            assert await play.ask(number) == 202
        await play.goes_on()


async def test_the_disk_of_workspaces_is_full(tmp_path: Path) -> None:
    """The step fails with the reason, the thread is told; the database has its own disk, and the bot goes on."""
    if reason := why_not():
        pytest.skip(reason)
    database = tmp_path / "elsewhere.db"
    world, _, app, _ = make_world(tmp_path / "github", {".github/bot.yml": CLONES, "large.bin": "x" * 3_000_000})
    more = {"BOT_SANDBOX": "off", "BOT_DATABASE_URL": f"sqlite:///{database}"}
    bot = SmallDisk(world, app, tmp_path / "data", free_port(), more=more, size="64m")
    async with at_work(bot) as deliverer:
        play = Scene(bot, deliverer, tmp_path)

        async def ends(count: int) -> None:
            await deliverer.settle()
            await bot.until(lambda: len(bot.said()) == count)

        bot.fill()
        world.comment("acme/widgets", 1, "ana", "@bot go")
        await ends(1)
        assert "disk is full" in bot.said()[0]
        assert "not_possible_here" in bot.said()[0]
        await bot.make_room()
        assert await play.readiness() == (200, "")
        world.comment("acme/widgets", 1, "ana", "@bot go")
        await ends(2)
        assert "large.bin" in bot.said()[1]


CLONES = """\
version: 1
workflows:
  go:
    steps:
      - {id: it, run: ls}
"""
