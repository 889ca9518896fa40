"""The outbox against the look-alike: real endpoints, checked with GitHub's description, and faults on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from bot.demo.records import Pull
from bot.github import GitHub, RepositoryClient
from bot.model.ident import compact
from bot.model.slot import Slot
from bot.model.thread import Account, Comment, Issue, Repository
from bot.publish import Checks, Comments, Marker, Sender, ThreadActions
from bot.store import Session, Store, open_store, outbox, threads
from bot.store.tables import Outbox, Thread
from tests.databases import DATABASES
from tests.demo.scene import Scene, key, scene
from tests.sending import claim_next

MARKER = Marker([b"k" * 32])


class Lag(httpx.AsyncBaseTransport):
    """Passes requests on; the next `count` listings of pull requests are empty, as a replica's that lags behind."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.inner, self.count = inner, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.count and request.method == "GET" and request.url.path.endswith("/pulls"):
            self.count -= 1
            return httpx.Response(200, json=[], request=request)
        return await self.inner.handle_async_request(request)


class Stage:
    """A database, the look-alike, and a sender between them. Pull request 2 changes `src/size.py`."""

    def __init__(self, made: Scene, store: Store, github: GitHub, lag: Lag) -> None:
        self.made, self.store, self.github, self.lag = made, store, github, lag
        self.world, self.clock = made.world, made.clock
        repo = made.repo
        self.repository = Repository(repo.id, Account(repo.owner.id, repo.owner.login), repo.name)
        self.pull = self._pull()
        self.marker = MARKER

    def _pull(self) -> Pull:
        text = "def parse_size(text):\n    return int(text or 0)\n"
        self.world.write_file(self.made.repo, "src/size.py", text, "meg", branch="fix")
        return self.world.open_pull(self.made.repo, "meg", "Take nothing for 0", head="fix")

    def mine(self, comment: Comment) -> bool:
        return comment.author.login == "bot[bot]"

    def port(self, thread: Thread) -> RepositoryClient:
        return self.github.repository(thread.installation_id, self.repository)

    def sender(self, owner: str = "me") -> Sender:
        rooms = (Comments(self.port, MARKER, self.mine), ThreadActions(self.port, MARKER, self.mine), Checks(self.port))
        return Sender(
            self.store,
            {kind: performer for one in rooms for kind, performer in one.performers.items()},
            self.clock,
            owner=owner,
        )

    def thread(self, session: Session, number: int) -> Thread:
        on_pull = number == self.pull.number
        now = self.clock.now()
        issue = Issue(
            900 + number, number, "t", "b", Account(11, "meg"), "open", "", (), now, now, is_pull_request=on_pull
        )
        return threads.ensure(session, self.repository, issue, installation_id=self.made.installation.id)

    async def want(self, action: str, payload: dict[str, Any], *, thread: int = 1, name: str = "") -> str:
        """Want an action done; returns the row's id."""

        def work(session: Session) -> str:
            return outbox.ensure(
                session,
                Slot("run/1", name or action),
                thread_id=self.thread(session, thread).id,
                action=action,
                purpose="action",
                body=compact(payload),
                now=self.clock.now(),
            ).id

        return await self.store.write(work)

    async def row(self, row_id: str) -> Outbox:
        return await self.store.read(lambda session: session.get_one(Outbox, row_id))

    async def later(self, sender: Sender, *seconds: float) -> None:
        """Sweep now, and after each of these times."""
        await sender.sweep()
        for pause in seconds:
            self.clock.advance(pause)
            await sender.sweep()

    async def killed(self, row_id: str, does: Callable[[], object] = lambda: None) -> Sender:
        """A process took the row, perhaps did it, and died; the one that comes after."""
        claimed = await self.store.write(lambda session: claim_next(session, "dead", self.clock.now()))
        assert claimed is not None
        assert claimed.row.id == row_id
        does()
        sender = self.sender("next")
        await sender.recover()
        return sender

    def writes(self) -> list[tuple[str, str]]:
        """Method and path below the repository of each write that reached the look-alike."""
        below = f"/repos/{self.made.repo.full_name}"
        return [
            (seen.method, seen.path.removeprefix(below))
            for seen in self.world.requests
            if seen.method != "GET" and "/access_tokens" not in seen.path
        ]


@asynccontextmanager
async def stage(directory: Path) -> AsyncIterator[Stage]:
    """Make one, and close it again."""
    made = scene(directory / "world")
    store = open_store(DATABASES.of_folder(directory))
    lag = Lag(made.transport)
    github = GitHub(
        base_url=made.world.api_url,
        app_id=str(made.app.id),
        private_key=key(),
        clock=made.clock,
        transport=lag,
    )
    try:
        yield Stage(made, store, github, lag)
    finally:
        await github.aclose()
        await store.close()
