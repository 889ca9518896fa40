"""PostgreSQL: one writer at a time over all processes, connections that are lost, COMMITs without an answer."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager

import pytest
from sqlalchemy import text
from sqlmodel import Session, select

from bot.errors import Transient, Unsure
from bot.store import Store, deliveries, open_store
from bot.store.database import ring
from bot.store.postgres import IDLE_SECONDS, LOCK_SECONDS
from bot.store.tables import Delivery, Landmark
from tests.databases import DATABASES
from tests.rows import delivery

from .conftest import NOW
from .wire import Cut, Wire

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture
def wire(database: str) -> Iterator[Wire]:
    """The wire to the database's server."""
    made = Wire(DATABASES.server.socket)
    yield made
    made.close()


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    """One more process on a database."""
    store = open_store(url)
    yield store
    await store.close()


async def guids(store: Store) -> list[str]:
    return await store.read(lambda s: list(s.exec(select(Delivery.guid).order_by(Delivery.guid))))


def setting(session: Session, name: str, value: str | None = None) -> str:
    """What a setting of the connection is, and what it is to be."""
    if value is not None:
        session.execute(text("SELECT set_config(:name, :value, false)"), {"name": name, "value": value})
    return str(session.execute(text("SELECT current_setting(:name)"), {"name": name}).scalar_one())


async def test_what_holds_of_a_connection(store: Store, database: str) -> None:
    """Times in UTC, an end to every wait, and a commit that is on disk, also where the database says otherwise."""
    name = database.partition("?")[0].rpartition("/")[2]
    DATABASES.server.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    DATABASES.server.execute(f"ALTER DATABASE \"{name}\" SET timezone = 'Asia/Tokyo'")
    async with opened(database) as other:
        asked = ("timezone", "synchronous_commit", "lock_timeout", "idle_in_transaction_session_timeout")
        found = await other.write(lambda s: [setting(s, one) for one in asked])
        assert found == ["UTC", "on", f"{LOCK_SECONDS}s", f"{IDLE_SECONDS}s"]
        assert await other.read(lambda s: setting(s, "transaction_isolation")) == "repeatable read"
    DATABASES.server.execute(f'ALTER DATABASE "{name}" RESET ALL')


async def test_processes_write_one_after_the_other(store: Store, database: str) -> None:
    """What one reads and writes back, no other changes meanwhile: it waits, and finds what was written."""
    await store.write(lambda s: s.add(Landmark(name="count", at=NOW, detail={"count": 0})))
    begun, over = threading.Event(), threading.Event()
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

    def count(session: Session) -> None:
        row = session.get_one(Landmark, "count")
        if not begun.is_set():
            begun.set()
            while not over.is_set() and DATABASES.server.execute(waiting) == [(0,)]:
                pass
        row.detail = {"count": row.detail["count"] + 1}
        session.add(row)

    async with opened(database) as other:
        first = asyncio.ensure_future(store.write(count))
        assert await asyncio.to_thread(begun.wait, 10)
        await other.write(count)
        over.set()
        await first
    assert await store.read(lambda s: s.get_one(Landmark, "count").detail) == {"count": 2}


async def test_bells_ring_in_every_process(store: Store, database: str) -> None:
    """With the commit, once, and not where nobody rang; whoever rings hears himself once too."""
    async with opened(database) as other:
        bells = {(who, name): one.bell(name) for who, one in (("mine", store), ("other", other)) for name in ("a", "b")}
        await store.write(lambda s: ring(s, "a"))
        await asyncio.wait_for(bells["other", "a"].wait(0), 5)
        await other.write(lambda s: ring(s, "b"))
        await asyncio.wait_for(bells["mine", "b"].wait(0), 5)
        assert {key: bell.count for key, bell in bells.items()} == dict.fromkeys(bells, 1)


async def test_whoever_did_not_listen_for_a_while_looks_at_everything(store: Store, database: str) -> None:
    """The connection of the listener was cut: each bell rings when it listens again, and the next one is heard."""
    bell = store.bell("queue")
    cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%'"
    assert DATABASES.server.execute(cut) == [(1,)]
    await asyncio.wait_for(bell.wait(0), 5)
    async with opened(database) as other:
        await other.write(lambda s: ring(s, "queue"))
        await asyncio.wait_for(bell.wait(1), 5)


async def test_bells_are_heard_whatever_number_the_connection_has(store: Store, database: str) -> None:
    """Where a process has more than a thousand files and sockets open, its next connection has a number above 1023."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 2048), limits[1]))
    with ExitStack() as others:
        others.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        for _ in range(1100):
            others.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        async with opened(database) as other:
            bell = other.bell("queue")
            seen = bell.count
            await store.write(lambda s: ring(s, "queue"))
            await asyncio.wait_for(bell.wait(seen), 5)


async def test_connections_that_were_cut_while_nobody_used_them_cost_nothing(store: Store) -> None:
    """A server that was started again: the next write and the next reads are done on new connections."""
    await asyncio.gather(*(guids(store) for _ in range(4)))
    await store.write(lambda s: deliveries.take(s, delivery("a"), NOW))
    DATABASES.server.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname LIKE 'test%%'")
    assert await store.write(lambda s: deliveries.take(s, delivery("b"), NOW)) == "accepted"
    assert await asyncio.gather(*(guids(store) for _ in range(4))) == [["a", "b"]] * 4


async def test_a_connection_that_is_cut_in_a_work_undoes_all_of_its_commit(store: Store) -> None:
    """Everyone hears that it passes; then it works."""

    def cut(session: Session) -> None:
        session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    with pytest.raises(Transient, match="the database refuses"):
        await store.write(cut)
    with pytest.raises(Transient, match="the database refuses"):
        await store.read(cut)
    once = [True]
    assert await store.read(lambda s: cut(s) if once and once.pop() else "looked again") == "looked again"
    assert await store.write(lambda s: deliveries.take(s, delivery("a"), NOW)) == "accepted"


async def test_one_work_that_takes_too_long_undoes_only_itself(store: Store) -> None:
    """The server ends its statement; it may be done again."""

    def slow(session: Session) -> None:
        deliveries.take(session, delivery("slow"), NOW)
        setting(session, "statement_timeout", "20ms")
        session.execute(text("SELECT pg_sleep(10)"))

    with pytest.raises(Transient, match="statement timeout"):
        await store.write(slow)
    assert await guids(store) == []


@pytest.mark.parametrize("rows", [1, 2])
async def test_who_sleeps_with_the_lock_loses_it_and_his_work(store: Store, database: str, rows: int) -> None:
    """A process that was stopped in its write holds up the others no longer than `IDLE_SECONDS`; several rows at once
    go to the server by another way.
    """
    await store.write(lambda s: setting(s, "idle_in_transaction_session_timeout", "100ms"))
    begun, over = threading.Event(), threading.Event()

    def sleeps(session: Session) -> None:
        deliveries.take_all(session, [delivery(f"asleep {number}") for number in range(rows)], NOW)
        begun.set()
        assert over.wait(10)

    sleeping = asyncio.ensure_future(store.write(sleeps))
    assert await asyncio.to_thread(begun.wait, 10)
    async with opened(database) as other:
        assert await other.write(lambda s: deliveries.take(s, delivery("awake"), NOW)) == "accepted"
        over.set()
        with pytest.raises(Transient, match="idle-in-transaction"):
            await sleeping
        assert await guids(other) == ["awake"]


@pytest.mark.parametrize(("cut", "kept"), [("lost", False), ("unanswered", True), ("late", True)])
async def test_a_commit_without_an_answer_is_settled(database: str, wire: Wire, cut: Cut, kept: bool) -> None:
    """Whoever is told that it was done finds it done once; whoever is told that it was not may do it again."""
    url = database.partition("?")[0] + f"?host={wire.folder}"
    async with opened(url) as store:
        assert await store.write(lambda s: deliveries.take(s, delivery("before"), NOW)) == "accepted"
        wire.cut = cut
        writing = store.write(lambda s: deliveries.take(s, delivery("a"), NOW))
        if kept:
            assert await writing == "accepted"
        else:
            with pytest.raises(Transient):
                await writing
        assert await guids(store) == (["a", "before"] if kept else ["before"])
        again = await store.write(lambda s: deliveries.take(s, delivery("a"), NOW))
        assert again == ("duplicate" if kept else "accepted")


async def test_a_store_that_is_closed_waits_no_longer_to_know(database: str, wire: Wire) -> None:
    """The server stays away: whoever asked hears that it may have been done."""
    store = open_store(database.partition("?")[0] + f"?host={wire.folder}")
    wire.cut = "gone"
    writing = asyncio.ensure_future(store.write(lambda s: deliveries.take(s, delivery("a"), NOW)))
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(Unsure):
        await writing


async def test_a_number_that_was_given_twice_is_no_proof(store: Store, database: str) -> None:
    """A server that crashed at a COMMIT has lost the transaction, and gives its number to whoever writes next."""
    await store.write(lambda s: deliveries.take(s, delivery("before"), NOW))
    async with opened(database) as other:
        number = await other.write(lambda s: s.connection().execute(text("SELECT pg_current_xact_id()::text")).scalar())
        assert other._backend._settled(number)  # type: ignore[attr-defined]
        assert not store._backend._settled(number)  # type: ignore[attr-defined]


async def test_a_transaction_that_a_standby_never_had_is_lost(store: Store) -> None:
    """Its number is one that the server has yet to give."""
    assert not store._backend._settled(str(2**62))  # type: ignore[attr-defined]
