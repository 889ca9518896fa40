"""A database that refuses is told once, and once that it no longer does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlmodel import text
from structlog.testing import capture_logs

from bot.errors import Transient
from bot.store import Session, deliveries, listening, open_store
from bot.store.refusing import Refusing
from bot.store.tables import Landmark
from tests.databases import away
from tests.rows import NOW, delivery, held, locked


@contextmanager
def told() -> Iterator[list[tuple[str, str]]]:
    """What the log has been told of reads and writes, in order."""
    lines: list[tuple[str, str]] = []
    with capture_logs() as logged:
        yield lines
    lines += [(str(line["event"]), str(line["what"])) for line in logged if str(line["event"]).startswith("store_")]


async def test_writes_that_are_refused_are_told_once(database: str) -> None:
    """By whomever; that readings go on changes nothing."""
    store = open_store(database)
    with told() as lines:
        async with locked(store):
            for guid in "abc":
                with pytest.raises(Transient):
                    await store.write(lambda s, guid=guid: deliveries.take(s, delivery(guid), NOW))  # type: ignore[misc]
                await store.read(lambda session: deliveries.next_due(session, NOW))
        for guid in "de":
            await store.write(lambda s, guid=guid: deliveries.take(s, delivery(guid), NOW))  # type: ignore[misc]
    assert lines == [("store_refuses", "writes"), ("store_answers", "writes")]
    await store.close()


async def test_readings_that_are_refused_are_told_once(database: str) -> None:
    """As many as there are at once; who may not write while reading is refused."""
    store = open_store(database)

    async def refused() -> None:
        with pytest.raises(Transient):
            await store.read(lambda s: deliveries.take(s, delivery("a"), NOW))

    with told() as lines:
        await asyncio.gather(*(refused() for _ in range(6)))
        await store.write(lambda s: deliveries.take(s, delivery("b"), NOW))
        for _ in range(2):
            await store.read(lambda session: deliveries.next_due(session, NOW))
    assert lines == [("store_refuses", "reads"), ("store_answers", "reads")]
    await store.close()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_a_commit_of_nothing_does_not_end_it(database: str) -> None:
    """A full disk takes that as well; on PostgreSQL every commit writes something."""
    store = open_store(database)

    async def much(name: str) -> None:
        await store.write(lambda s: s.add(Landmark(name=name * 100_000, at=NOW)))

    await store.write(lambda s: s.connection().execute(text("PRAGMA max_page_count = 1")))  # as many as there are
    with told() as lines:
        for name in "ab":
            with pytest.raises(Transient):
                await much(name)
            await store.write(lambda session: deliveries.next_due(session, NOW))
    assert lines == [("store_refuses", "writes")]
    await store.write(lambda s: s.connection().execute(text("PRAGMA max_page_count = 100000")))
    with told() as lines:
        await much("c")
    assert lines == [("store_answers", "writes")]
    await store.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_one_that_is_refused_among_others_is_told(database: str) -> None:
    """Its own statement took too long; the next commit is the answer to that."""
    store = open_store(database)

    def long(session: Session) -> None:
        session.execute(text("SET LOCAL statement_timeout = 1"))
        session.execute(text("SELECT pg_sleep(10)"))

    with told() as lines:
        async with held(store):
            works: list[Callable[[Session], object]] = [long, lambda s: deliveries.take(s, delivery("a"), NOW)]
            going = [asyncio.ensure_future(store.write(work)) for work in works]
            await asyncio.sleep(0)
        heard = await asyncio.gather(*going, return_exceptions=True)
    assert (type(heard[0]), heard[1]) == (Transient, "accepted")
    assert lines == [("store_refuses", "writes")]
    with told() as lines:
        await store.write(lambda s: deliveries.take(s, delivery("b"), NOW))
    assert lines == [("store_answers", "writes")]
    await store.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_an_outage_is_told_once_by_all_together(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who listens meets it, also where nobody asks; reads and writes say no more; its end is told before they ask."""
    monkeypatch.setattr(listening, "PAUSES", (0.01, 0.02))
    store = open_store(database)
    heard = store.bell("queue")
    with capture_logs() as logged:
        with away(database):
            async with asyncio.timeout(10):
                while not any(line["event"] == "store_refuses" for line in logged):
                    await asyncio.sleep(0.01)
            for guid in "abc":
                with pytest.raises(Transient):
                    await store.write(lambda s, guid=guid: deliveries.take(s, delivery(guid), NOW))  # type: ignore[misc]
                with pytest.raises(Transient):
                    await store.read(lambda session: deliveries.next_due(session, NOW))
            seen = heard.count
        await asyncio.wait_for(heard.wait(seen), 10)
    told = [(line["event"], line.get("what")) for line in logged]
    assert told == [("store_refuses", "listening"), ("store_answers", "listening"), ("listens_again", None)]
    await store.close()


async def test_what_is_refused_beside_it_is_over_when_both_are() -> None:
    """The first is the one that is named."""
    refusing = Refusing()
    with told() as lines:
        refusing.answered()
        refusing.refused("writes", "full")
        refusing.refused("reads", "away")
        refusing.answered("writes")
        refusing.refused("writes", "full")
        refusing.answered("reads")
        refusing.answered("reads")
    assert lines == [("store_refuses", "writes")]
    with told() as lines:
        refusing.answered("writes")
        refusing.answered("writes")
        refusing.refused("reads", "away")
        refusing.answered()
        refusing.answered()
    assert lines == [("store_answers", "writes"), ("store_refuses", "reads"), ("store_answers", "reads")]
