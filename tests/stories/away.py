"""A bot that GitHub cannot reach, or that was away: its front door opens and closes, and time is stepped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from fastapi import FastAPI
from sqlmodel import col, select

from bot.app import Bot, open_bot
from bot.demo.deliveries import Deliverer
from bot.demo.records import App, Comment, Installation, Repository
from bot.demo.server import lookalike
from bot.demo.world import World
from bot.dispatch import LANDMARK
from bot.publish.marker import strip
from bot.serving import attach
from bot.store import Session, landmarks
from bot.store.rest import unfinished
from bot.store.tables import Delivery, Dispatch
from tests.stage import make_settings, make_world

BOT_YML = """\
version: 1
agents:
  one: {model: "demo:helper", prompt: One.}
  two: {model: "demo:helper", prompt: Two.}
  three: {model: "demo:helper", prompt: Three.}
"""
FILES = {".github/bot.yml": BOT_YML, "README.md": "# widgets\n"}


class SteppedClock:
    """The machine's time, and as much more as a test has stepped on; who sleeps wakes when that has passed."""

    def __init__(self) -> None:
        self._ahead = timedelta()
        self._stepped = asyncio.Event()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    async def sleep(self, seconds: float) -> None:
        until = self.now() + timedelta(seconds=seconds)
        while (left := (until - self.now()).total_seconds()) > 0:
            try:
                await asyncio.wait_for(self._stepped.wait(), left)
            except TimeoutError:
                return

    def step(self, time: timedelta) -> None:
        """So much time passes at once."""
        self._ahead += time
        stepped, self._stepped = self._stepped, asyncio.Event()
        stepped.set()


class Door(httpx.AsyncBaseTransport):
    """What GitHub meets at the bot's address: the bot, or what `answers` says in turn, the last one for ever."""

    def __init__(self) -> None:
        self.front: httpx.ASGITransport | None = None
        self.answers: list[int | str] = [0]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        match answer:
            case "bot" if self.front is not None:
                return await self.front.handle_async_request(request)
            case "bot" | 0:
                raise httpx.ConnectError("nobody there")
            case 1:
                raise httpx.ReadTimeout("no answer")
            case int():
                return httpx.Response(answer)
        return httpx.Response(200, text=str(answer))


@dataclass
class Away:
    """A world that goes on, and bots on one data folder in it, one after the other."""

    world: World
    repo: Repository
    app: App
    installation: Installation
    clock: SteppedClock
    door: Door
    deliverer: Deliverer
    folder: Path
    #: when the last bot began, or time was stepped: the log is read after that
    mark: datetime = datetime(1970, 1, 1, tzinfo=UTC)

    @asynccontextmanager
    async def bot(self, *, reachable: bool = True, data: str = "data") -> AsyncIterator[Bot]:
        """A bot that runs meanwhile; GitHub reaches it, or not."""
        settings = make_settings(self.world, self.app, self.folder / data, sandbox="off")
        transport = httpx.ASGITransport(lookalike(self.world))
        self.mark = self.clock.now()
        async with open_bot(
            settings, transport=transport, clock=self.clock, environ={}, look_at=(0.05, 0.1, 0.2)
        ) as bot:
            front = FastAPI()
            attach(front, bot)
            self.door.front = httpx.ASGITransport(front)
            if reachable:
                self.door.answers = ["bot"]
            try:
                yield bot
            finally:
                self.door.front = None

    async def says(self, author: str, body: str, number: int = 1) -> Comment:
        """Somebody comments, and GitHub has tried to tell of it."""
        made = self.world.comment(self.repo, number, author, body)
        await self.deliverer.settle()
        return made

    async def at_rest(self, bot: Bot) -> None:
        """Wait until the bot has read the log since it began, or since time was stepped, and nothing is left to do."""
        async with asyncio.timeout(30):
            while (reached := await self.reached(bot)) is None or reached < self.mark:
                await asyncio.sleep(0.01)
        await self.quiet(bot)

    async def passes(self, time: timedelta, bot: Bot) -> None:
        """So much time passes, and the bot does what it does then."""
        self.clock.step(time)
        self.mark = self.clock.now()
        await self.at_rest(bot)

    async def quiet(self, bot: Bot) -> None:
        """Wait until nothing is left to do of what came in."""
        async with asyncio.timeout(30):
            while True:
                await self.deliverer.settle()
                if not await bot.store.read(unfinished):
                    return
                await asyncio.sleep(0.01)

    async def reached(self, bot: Bot) -> datetime | None:
        return await bot.store.read(lambda session: landmarks.reached(session, LANDMARK))

    async def origins(self, bot: Bot) -> dict[str, list[str]]:
        """Of what came in about comments and issues: by where it came from, `event.action`."""

        def work(session: Session) -> dict[str, list[str]]:
            found: dict[str, list[str]] = {}
            for row in session.exec(select(Delivery).order_by(col(Delivery.id))):
                found.setdefault(row.origin, []).append(f"{row.event}.{row.action}")
            return found

        return await bot.store.read(work)

    async def commands(self, bot: Bot) -> list[str]:
        """What was asked for, in the order it was accepted."""
        query = select(Dispatch.command).order_by(col(Dispatch.created_at), col(Dispatch.id))
        return await bot.store.read(lambda session: list(session.exec(query)))

    def replies(self, number: int = 1) -> list[str]:
        """The bot's comments on an issue, oldest first, without their markers."""
        return [strip(c.body) for c in self.world.comments(self.repo, number) if c.author is self.app.bot]


@asynccontextmanager
async def away(folder: Path, files: dict[str, str] | None = None) -> AsyncIterator[Away]:
    """A world in which nobody answers at the bot's address yet."""
    world, repo, app, installation = make_world(folder / "github", files or FILES)
    clock, door = SteppedClock(), Door()
    world.clock = clock
    async with AsyncExitStack() as stack:
        deliverer = await stack.enter_async_context(Deliverer(world, "http://bot.test/webhook", transport=door))
        await deliverer.settle()
        yield Away(world, repo, app, installation, clock, door, deliverer, folder)
