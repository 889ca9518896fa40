"""Bots on one data folder, one after the other, in a world that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from bot.app import Bot, open_bot
from bot.demo.deliveries import Deliverer
from bot.demo.records import App
from bot.demo.server import LookAlikeServer
from bot.demo.world import World
from bot.publish.marker import strip
from bot.serving import attach
from bot.settings import Settings
from bot.store.rest import unfinished
from tests.databases import DATABASES
from tests.stage import make_settings, make_world


@dataclass
class Scene:
    """A look-alike, and bots on one data folder, one after the other."""

    world: World
    app: App
    folder: Path

    def settings(self, **overrides: object) -> Settings:
        overrides.setdefault("database_url", DATABASES.of_folder(self.folder / "data"))
        return make_settings(self.world, self.app, self.folder / "data", sandbox="off", **overrides)

    @asynccontextmanager
    async def bot(self, **overrides: object) -> AsyncIterator[tuple[Bot, httpx.AsyncClient]]:
        """A bot that is told what happens in the world, and a client of its front door."""
        async with AsyncExitStack() as stack:
            bot = await stack.enter_async_context(open_bot(self.settings(**overrides), environ={}))
            front = FastAPI()
            attach(front, bot)
            transport = httpx.ASGITransport(front)
            deliverer = Deliverer(self.world, "http://bot.test/webhook", transport=transport)
            await stack.enter_async_context(deliverer)
            await deliverer.settle()
            yield (
                bot,
                await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://localhost")),
            )

    def replies(self) -> list[str]:
        return [strip(c.body) for c in self.world.comments("acme/widgets", 1) if c.author is self.app.bot]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database says, read from outside."""
        return DATABASES.rows(self.folder / "data", query)


async def until(holds: Callable[[], object], seconds: float = 30) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)


async def at_rest(bot: Bot) -> None:
    """Wait until nothing is left to do."""
    async with asyncio.timeout(30):
        while await bot.store.read(unfinished):
            await asyncio.sleep(0.01)


def workflow(run: str) -> dict[str, str]:
    """A configuration with one workflow `go`."""
    text = f"version: 1\nworkflows:\n  go:\n    steps:\n      - {{id: it, run: '{run}'}}\n"
    return {".github/bot.yml": text}


@asynccontextmanager
async def scene(folder: Path, run: str = "echo done") -> AsyncIterator[Scene]:
    """A world on loopback whose workflow `go` runs a command."""
    world, _, app, _ = make_world(folder / "github", workflow(run))
    async with LookAlikeServer(world):
        yield Scene(world, app, folder)


ATTEMPTS = "SELECT number, state, json_extract(error, '$.code') FROM attempt ORDER BY id"
RUNS = "SELECT state, lease_owner FROM run"
