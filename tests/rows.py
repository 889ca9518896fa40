"""Rows for tests: a thread and runs on it, made through the same queries as the product's."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from typing import Any

import psycopg
from sqlmodel import text

from bot.model.delivery import NewDelivery
from bot.model.thread import Account, Issue, Repository
from bot.store import Session, Store, deliveries, dispatches, snapshots, threads
from bot.store.postgres import WRITER
from bot.store.tables import Dispatch, Run, Thread

NOW = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)
ANA = Account(11, "ana")
REPOSITORY = Repository(501, Account(10, "acme", "Organization"), "widgets")


def delivery(guid: str, content: str | None = None) -> NewDelivery:
    """A delivery with both identities."""
    return NewDelivery(1, guid, "issue_comment", "created", content or f"content-{guid}", REPOSITORY.id, b"{}")


def issue(number: int = 1) -> Issue:
    """An open issue of `REPOSITORY`."""
    return Issue(
        id=9000 + number,
        number=number,
        title="Crash on empty input",
        body="It crashes.",
        author=ANA,
        state="open",
        url=f"https://github.test/acme/widgets/issues/{number}",
        labels=("bug",),
        created_at=NOW,
        updated_at=NOW,
    )


def thread(session: Session, number: int = 1) -> Thread:
    """The row of that issue's thread."""
    return threads.ensure(session, REPOSITORY, issue(number), installation_id=77)


def run(
    session: Session,
    number: int = 1,
    *,
    guid: str,
    now: datetime = NOW,
    workflow: str = "ask",
    files: dict[str, str] | None = None,
    comment_id: int | None = None,
) -> Run:
    """A queued run on thread `number`, as an accepted delivery makes one."""
    where = thread(session, number)
    assert deliveries.take(session, delivery(guid), now) == "accepted"
    taken = deliveries.find(session, guid)
    assert taken is not None
    snapshot = snapshots.keep(session, REPOSITORY.id, "c0ffee", files or {}, now)
    dispatch = Dispatch(
        thread_id=where.id,
        delivery_id=taken.id,
        sequence=0,
        snapshot_id=snapshot.id,
        actor_id=ANA.id,
        actor=ANA.login,
        actor_role="write",
        comment_id=comment_id,
        request="hello",
        command=workflow,
        trigger={
            "name": "mention",
            "text": "hello",
            "actor": ANA.login,
            "url": "https://x.test/1",
            "at": now.isoformat(),
        },
        created_at=now,
    )
    return dispatches.accept(session, dispatch, workflow, now)


@asynccontextmanager
async def held(store: Store) -> AsyncIterator[None]:
    """The writer is at work on something: whatever is written within waits for it, and is one commit then."""
    begun, over = threading.Event(), threading.Event()

    def work(_session: Session) -> None:
        begun.set()
        assert over.wait(10)

    holding = asyncio.ensure_future(store.write(work))
    assert await asyncio.to_thread(begun.wait, 10)
    yield
    over.set()
    await holding


@asynccontextmanager
async def locked(store: Store) -> AsyncIterator[None]:
    """Within, the database refuses every write: somebody else holds it, and nobody waits for that."""
    kind, where = await store.write(_unwaiting)
    with closing(_held_sqlite(where) if kind == "sqlite" else _held_postgresql(where)) as other:
        yield
        other.rollback()  # answered, unlike closing: a server lets go of the lock some time after that


def _unwaiting(session: Session) -> tuple[str, str]:
    """Let the connection that writes wait for nobody; which database it is of, and where that is."""
    connection = session.connection()
    if connection.dialect.name == "sqlite":
        connection.execute(text("PRAGMA busy_timeout=0"))
        # the first is the file; another one is there once something temporary was needed
        return "sqlite", connection.execute(text("PRAGMA database_list")).all()[0][2]
    connection.execute(text("SELECT set_config('lock_timeout', '1ms', false)"))
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return "postgresql", driver.info.dsn


def _held_sqlite(file: str) -> sqlite3.Connection:
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


def _held_postgresql(where: str) -> psycopg.Connection[Any]:
    other: psycopg.Connection[Any] = psycopg.connect(where)
    other.execute("SELECT pg_advisory_xact_lock(%s)", (WRITER,))
    return other
