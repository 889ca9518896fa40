"""A database, a GitHub with threads behind a transport, and a sender between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from bot.github import GitHub
from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.model.thread import Account, Issue
from bot.publish.comments import Comments
from bot.publish.marker import Marker
from bot.publish.pace import Pace
from bot.publish.sender import Sender
from bot.store import Session, Store, outbox, threads
from bot.store.tables import Outbox, Thread
from tests.github.fake import REPOSITORY, START, FakeClock, make_github

from .thread_server import ThreadServer

MARKER = Marker([b"k" * 32])


@dataclass
class World:
    """A database, a GitHub with threads, and a sender between them."""

    store: Store
    path: Path
    clock: FakeClock = field(default_factory=FakeClock)
    server_of: Callable[[FakeClock], ThreadServer] = ThreadServer
    server: ThreadServer = field(init=False)
    github: GitHub = field(init=False)

    def __post_init__(self) -> None:
        self.server = self.server_of(self.clock)
        self.github = make_github(self.server)

    def sender(
        self, owner: str = "me", *, store: Store | None = None, at_once: int = 8, pace: Pace | None = None
    ) -> Sender:
        comments = Comments(
            lambda thread: self.github.repository(thread.installation_id, REPOSITORY),
            MARKER,
            lambda comment: comment.author.id == 99,
        )
        return Sender(
            store or self.store,
            comments.performers,
            self.clock,
            owner=owner,
            pace=pace,
            at_once=at_once,
        )

    async def say(
        self,
        scope: str,
        body: str | None = None,
        *,
        purpose: str = "result",
        thread: int = 1,
        sequence: int = 0,
        action: str = "comment",
        target: int | None = None,
        target_kind: str = "comment",
        not_before: datetime | None = None,
        installation: int = 5,
        on_pull: bool = False,
    ) -> str:
        """Want something said; the body begins with the scope unless given. Returns the row's id."""

        def work(session: Session) -> str:
            return outbox.ensure(
                session,
                Slot(scope, purpose),
                thread_id=where(session, thread, installation, on_pull=on_pull).id,
                action=action,
                purpose=purpose,
                body=body or scope,
                now=self.clock.now(),
                target_id=target,
                target_kind=target_kind,
                not_before=not_before,
                sequence=sequence,
            ).id

        return await self.store.write(work)

    async def row(self, row_id: str) -> Outbox:
        return await self.store.read(lambda session: session.get_one(Outbox, row_id))

    async def state(self, row_id: str) -> OutboxState:
        return (await self.row(row_id)).state

    async def at(self, sender: Sender, *seconds: float) -> None:
        """Sweep at each of these times after the start."""
        for moment in seconds:
            self.clock.advance((START + timedelta(seconds=moment) - self.clock.now()).total_seconds())
            await sender.sweep()


def where(session: Session, number: int, installation: int = 5, *, on_pull: bool = False) -> Thread:
    """The row of a thread."""
    issue = Issue(900 + number, number, "t", "b", Account(11, "meg"), "open", "", (), START, START,
                  is_pull_request=on_pull)  # fmt: skip
    return threads.ensure(session, REPOSITORY, issue, installation_id=installation)
