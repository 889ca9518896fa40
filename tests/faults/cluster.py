"""Several bots on one PostgreSQL, each a process of its own with a data folder of its own, behind one front door."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg

from bot.demo.deliveries import Deliverer
from bot.demo.records import App, Comment, Repository
from bot.demo.server import LookAlikeServer
from bot.demo.world import World
from bot.publish.marker import strip
from tests.databases import DATABASES
from tests.faults.process import UNFINISHED, BotProcess, free_port
from tests.stage import make_world


class FrontDoor(httpx.AsyncBaseTransport):
    """A proxy in front of the receivers: each in turn, the next one where it does not listen."""

    def __init__(self, receivers: list[BotProcess]) -> None:
        self._receivers = receivers
        self._turn = 0
        self._transport = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        for _ in self._receivers:
            self._turn += 1
            receiver = self._receivers[self._turn % len(self._receivers)]
            request.url = request.url.copy_with(host="127.0.0.1", port=receiver.port)
            try:
                return await self._transport.handle_async_request(request)
            except httpx.ConnectError:
                continue
        raise httpx.ConnectError("no receiver listens", request=request)

    async def aclose(self) -> None:
        await self._transport.aclose()


@dataclass
class Cluster:
    """The processes by name, what they work on, and a look at the database from outside."""

    world: World
    repo: Repository
    app: App
    url: str
    members: dict[str, BotProcess]
    connection: psycopg.Connection[Any] = field(repr=False)
    deliverer: Deliverer = field(init=False, repr=False)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the database says."""
        return self.connection.execute(query.encode(), values or None).fetchall()

    async def until(self, holds: Callable[[], object], seconds: float = 40) -> float:
        """Wait for a condition; how many seconds that took."""
        begun = asyncio.get_running_loop().time()
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.02)
        return asyncio.get_running_loop().time() - begun

    async def ask(self, body: str, number: int = 1) -> Comment:
        """Ana writes; returns when a receiver has taken it in."""
        made = self.world.comment(self.repo, number, "ana", body)
        await self.deliverer.settle()
        return made

    async def settled(self, seconds: float = 60) -> None:
        """Until deliveries, runs and outbox have come to rest."""
        await self.until(lambda: self.rows(UNFINISHED) == [(0,)], seconds)

    def replies(self, number: int = 1) -> list[str]:
        """The bot's comments, oldest first."""
        return [strip(c.body) for c in self.world.comments(self.repo, number) if c.author is self.app.bot]

    def numbers(self, number: int = 1) -> list[str]:
        """Of which runs the bot has told the end on a thread, in that order."""
        return [reply.rsplit("<sub>", 1)[1].split(" ·")[0] for reply in self.replies(number)]

    def open_issues(self, count: int) -> None:
        """Issues 2 to `count`; the first is there."""
        for number in range(2, count + 1):
            self.world.open_issue(self.repo, "sam", f"Issue {number}", "It crashes, too.")

    def holder(self, member: BotProcess) -> str:
        """The id under which a member holds what it holds: processes are told apart by when they came."""
        started = [name for name in self.members if self.members[name].process is not None]
        ids = [row[0] for row in self.rows("SELECT id FROM process ORDER BY started_at")]
        return str(ids[started.index(next(name for name in started if self.members[name] is member))])

    def having(self, duty: str) -> BotProcess:
        """The member that has a duty."""
        ((owner,),) = self.rows("SELECT owner FROM duty WHERE name = %s", duty)
        return next(member for member in self.members.values() if self.holder(member) == owner)

    async def stop_all(self) -> None:
        """Nothing is left behind."""
        for member in self.members.values():
            if member.process is not None and member.process.returncode is None:
                member.process.send_signal(signal.SIGCONT)
                await member.stop()


@asynccontextmanager
async def open_cluster(
    folder: Path, files: dict[str, str], *parts: str, more: dict[str, str] | None = None
) -> AsyncIterator[Cluster]:
    """A look-alike and processes, by what they are for (`receiver`, `worker`, `serve`), started in that order."""
    world, repo, app, _ = make_world(folder / "github", files)
    async with AsyncExitStack() as stack:
        url = stack.enter_context(DATABASES.server.database())
        connection = stack.enter_context(psycopg.connect(url, autocommit=True))
        settings = {"BOT_DATABASE_URL": url, **(more or {})}
        members = {
            f"{part}{number}": BotProcess(world, app, folder / f"{part}{number}", free_port(), more=settings, part=part)
            for number, part in enumerate(parts, 1)
        }
        await stack.enter_async_context(LookAlikeServer(world))
        cluster = Cluster(world, repo, app, url, members, connection)
        stack.push_async_callback(cluster.stop_all)
        for member in members.values():
            await member.start()
        front = FrontDoor([member for member in members.values() if member.part != "worker"])
        stack.push_async_callback(front.aclose)
        cluster.deliverer = await stack.enter_async_context(
            Deliverer(world, "http://127.0.0.1/webhook", transport=front)
        )
        await cluster.deliverer.settle()
        yield cluster
