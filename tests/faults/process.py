"""A bot in a process that can be killed, with its thread and its database looked at from outside."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bot.demo.deliveries import TIMEOUT, Deliverer
from bot.demo.records import App
from bot.demo.server import LookAlikeServer
from bot.demo.world import World
from bot.publish.marker import strip
from tests.faults.forks import ROOT, Forked, fork
from tests.stage import SECRET

#: how many deliveries, runs and posts are not at rest
UNFINISHED = """\
SELECT (SELECT count(*) FROM delivery WHERE state = 'new')
     + (SELECT count(*) FROM run WHERE state IN ('queued', 'running'))
     + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending', 'unsure'))
"""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class BotProcess:
    """One bot: started, killed, started again on the same data folder."""

    world: World
    app: App
    data: Path
    port: int
    process: asyncio.subprocess.Process | Forked | None = None
    #: further settings
    more: dict[str, str] = field(default_factory=dict)
    #: what is run: `tests.faults.serve`, or one around it that has faults of its own
    module: str = "tests.faults.serve"
    #: a command that ends by running what follows it
    around: tuple[str, ...] = ()
    #: what it is for: `serve`, `receiver` or `worker`
    part: str = "serve"
    #: seconds between two looks at it
    pause: float = 0.02

    @property
    def webhook(self) -> str:
        return f"http://127.0.0.1:{self.port}/webhook"

    @property
    def folder(self) -> Path:
        """The data folder as this process sees it."""
        return self.data

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        environ = {
            "PATH": os.environ["PATH"],
            "BOT_GITHUB_URL": self.world.api_url,
            "BOT_GITHUB_APP_ID": str(self.app.id),
            "BOT_GITHUB_APP_SLUG": self.app.slug,
            "BOT_GITHUB_PRIVATE_KEY": self.app.private_key,
            "BOT_GITHUB_WEBHOOK_SECRET": SECRET,
            "BOT_ALLOWED_OWNERS": "acme",
            "BOT_DATA_DIR": str(self.data),
            "BOT_PORT": str(self.port),
            "BOT_DEFAULT_MODEL": "demo:helper",
            **self.more,
        }
        if self.around:
            self.process = await asyncio.create_subprocess_exec(
                *self.around, sys.executable, "-m", self.module, self.part, cwd=ROOT, env=environ,
                stderr=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        else:
            self.process = fork(self.module, self.part, environ=environ)
        async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(60):
            while True:
                assert self.process.returncode is None, "the bot did not start"
                try:
                    if (await client.get(f"http://127.0.0.1:{self.port}/readyz")).status_code == 200:
                        return
                except httpx.TransportError:
                    await asyncio.sleep(0.02)

    async def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it with a signal, by default without any warning."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)
            await self.process.wait()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database says, read from outside."""
        connection = sqlite3.connect(f"file:{self.folder / 'bot.db'}?mode=ro", uri=True, timeout=10)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    async def until(self, holds: Callable[[], object], seconds: float = 40) -> None:
        """Wait for a condition."""
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(self.pause)

    async def settled(self) -> None:
        """Until deliveries, runs and outbox have come to rest."""
        await self.until(lambda: self.rows(UNFINISHED) == [(0,)])

    def said(self, number: int = 1) -> list[str]:
        """Its comments on an issue, oldest first, without their markers."""
        return [strip(c.body) for c in self.world.comments("acme/widgets", number) if c.author is self.app.bot]


@asynccontextmanager
async def at_work(bot: BotProcess, *, timeout: float = TIMEOUT) -> AsyncIterator[Deliverer]:
    """It is started, is told what happens in its world, and has nothing left to do; at the end it is killed."""
    async with LookAlikeServer(bot.world):
        try:
            await bot.start()
            async with Deliverer(bot.world, bot.webhook, timeout=timeout) as deliverer:
                await deliverer.settle()
                await bot.settled()
                yield deliverer
        finally:
            await bot.stop()
