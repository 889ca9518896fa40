"""A thread with so many comments, a bot that was told of all of them, and somebody who asks it to look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from fastapi import FastAPI

from bot.app import Bot, open_bot
from bot.demo.deliveries import Deliverer
from bot.model.thread import Account, Comment
from bot.serving import attach
from bot.settings import load
from bot.store import Session, threads
from bot.store.rest import unfinished
from tests.bench.github_process import GitHub

LENGTHS = (10, 100, 1_000, 10_000)
#: comments are a minute apart and all in the past
_APART = timedelta(minutes=1)
_TEXT = "It still crashes here, with the newest version too, and only where the input comes from a file. " * 3


@dataclass(slots=True)
class LongThread:
    """The bot and the look-alike, in this process."""

    github: GitHub
    bot: Bot
    deliverer: Deliverer

    async def ask(self, text: str = "@bot look") -> None:
        """Ana asks; returns when the bot has nothing left to do."""
        self.github.world.comment(self.github.repositories[0], 1, "ana", text)
        await self.rest()

    async def rest(self) -> None:
        """Wait until nothing is left to do."""
        async with asyncio.timeout(120):
            while True:
                await self.deliverer.settle()
                if not await self.bot.store.read(unfinished):
                    return
                await asyncio.sleep(0.005)


@asynccontextmanager
async def opened(
    folder: Path, length: int, around: Callable[[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport] | None = None
) -> AsyncIterator[LongThread]:
    """A thread of `length` comments; `around` may put something between the bot and GitHub."""
    github = GitHub(folder / "github")
    world, repository = github.world, github.repositories[0]
    begun = datetime.now(UTC).replace(microsecond=0) - _APART * (length + 2)
    with world.silence():
        for number in range(length):
            made = world.comment(repository, 1, "ana", f"{number}: {_TEXT}")
            made.created_at = made.updated_at = begun + _APART * number
    transport: httpx.AsyncBaseTransport = httpx.ASGITransport(github.served_app)
    settings, _ = load(github.facts() | {"BOT_DATA_DIR": str(folder / "data"), "BOT_SANDBOX": "off"}, None)
    async with AsyncExitStack() as stack:
        bot = await stack.enter_async_context(
            open_bot(settings, transport=around(transport) if around else transport, environ={})
        )
        front = FastAPI()
        attach(front, bot)
        deliverer = Deliverer(world, "http://bot.test/webhook", transport=httpx.ASGITransport(front))
        thread = LongThread(github, bot, await stack.enter_async_context(deliverer))
        await thread.ask()  # the thread's row is made, tokens and the configuration are known
        await bot.store.write(lambda session: _told(session, github))
        yield thread


def _told(session: Session, github: GitHub) -> None:
    """The rows that the deliveries about the thread's comments would have left."""
    repository = github.repositories[0]
    row = threads.find(session, repository.id, 1)
    assert row is not None
    for each in github.world.comments(repository, 1):
        if each.author is github.app.bot:
            continue
        author = Account(each.author.id, each.author.login)
        url = f"{github.world.site_url}/{repository.full_name}/issues/1#issuecomment-{each.id}"
        comment = Comment(each.id, author, each.body, each.created_at, each.updated_at, url)
        threads.remember(session, row.id, comment, each.created_at)
