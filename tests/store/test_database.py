"""The writer thread: group commit, isolation of works, bells. Alike on both databases."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlmodel import Session, col, func, select
from ulid import ULID

from bot.errors import Transient
from bot.model.ident import new_id
from bot.store import Store, deliveries, open_store
from bot.store.database import ring
from bot.store.tables import Attempt, Delivery, Frame, Landmark
from bot.store.tables.cluster import WRITERS
from tests import rows
from tests.rows import delivery, held, locked

from .conftest import NOW


async def count(store: Store) -> int:
    return await store.read(lambda s: s.exec(select(func.count(col(Delivery.id)))).one())


async def test_a_reader_cannot_write(store: Store) -> None:
    """Reading transactions are refused every write."""
    with pytest.raises(Transient, match=r"the database refuses: .*read-?only"):
        await store.read(lambda s: deliveries.take(s, delivery("a"), NOW))
    assert await count(store) == 0


async def test_what_waits_is_gathered_into_few_commits(store: Store) -> None:
    """200 writers at once need far fewer than 200 commits, and each gets his own answer."""
    before = store.commits

    def take(number: int) -> Awaitable[str]:
        return store.write(lambda s: deliveries.take(s, delivery(f"g{number}"), NOW))

    answers = await asyncio.gather(*map(take, range(200)))
    assert answers == ["accepted"] * 200
    assert store.commits - before < 60
    assert await count(store) == 200


async def test_one_failing_work_undoes_only_itself(store: Store) -> None:
    """An exception goes to its caller; works of the same commit stand."""

    def fails(session: Session) -> None:
        deliveries.take(session, delivery("bad"), NOW)
        raise ValueError("mine alone")

    first, second, third = await asyncio.gather(
        store.write(lambda s: deliveries.take(s, delivery("a"), NOW)),
        store.write(fails),
        store.write(lambda s: deliveries.take(s, delivery("b"), NOW)),
        return_exceptions=True,
    )
    assert (first, third) == ("accepted", "accepted")
    assert isinstance(second, ValueError)
    assert await count(store) == 2


async def test_a_bell_rings_after_the_commit_and_not_for_undone_work(store: Store) -> None:
    """Whoever is woken sees the row; a failed work wakes nobody."""
    bell = store.bell("queue")

    def fails(session: Session) -> None:
        ring(session, "queue")
        raise ValueError

    with pytest.raises(ValueError):
        await store.write(fails)
    assert bell.count == 0
    await store.write(lambda s: ring(s, "queue"))
    assert bell.count == 1
    await asyncio.wait_for(bell.wait(0), 5)


async def test_what_was_answered_survives_in_another_process_view(store: Store, database: str) -> None:
    """A second opening sees what the first was answered for, and migrates nothing again."""
    await store.write(lambda s: deliveries.take(s, delivery("a"), NOW))
    second = open_store(database)
    assert await count(second) == 1
    await second.close()


async def test_ids_go_on_behind_the_newest_of_the_database(store: Store, database: str) -> None:
    """Also where the clock of the process before was ahead: a run walks on from its newest attempt."""
    ahead = str(ULID.from_int(int(ULID.from_str(new_id())) + 2**93))

    def begin(session: Session) -> None:
        run = rows.run(session, guid="a")
        frame = session.exec(select(Frame).where(Frame.run_id == run.id)).one()
        attempt = Attempt(id=ahead, run_id=run.id, frame_id=frame.id, step="one", kind="run", number=1, started_at=NOW)
        session.add(attempt)

    await store.write(begin)
    assert new_id() < ahead
    await open_store(database).close()
    assert new_id() > ahead


async def test_statements_that_fail_undo_only_their_own_work(store: Store) -> None:
    """Works of one commit: what the database refuses one of them, and what it ignores, costs the others nothing."""

    def twice(session: Session) -> None:
        for _ in range(2):
            session.add(Landmark(name="one", at=NOW))
            session.flush()

    def after_a_fault(session: Session) -> str:
        with suppress(IntegrityError), session.begin_nested():
            session.add(Landmark(name="a", at=NOW))
            session.flush()
        return deliveries.take(session, delivery("b"), NOW)

    before = store.commits
    async with held(store):
        works: list[Callable[[Session], object]] = [
            lambda s: s.add(Landmark(name="a", at=NOW)),
            twice,
            lambda s: s.execute(text("SELECT nothing FROM nowhere")),
            after_a_fault,
            lambda s: deliveries.take(s, delivery("b", "other"), NOW),
        ]
        going = [asyncio.ensure_future(store.write(work)) for work in works]
        await asyncio.sleep(0)
    heard = await asyncio.gather(*going, return_exceptions=True)
    assert [type(one) for one in heard] == [type(None), IntegrityError, type(heard[2]), str, str]
    assert isinstance(heard[2], DBAPIError)
    assert heard[3:] == ["accepted", "duplicate"]
    assert store.commits - before == 2
    ours = select(Landmark.name).where(~col(Landmark.name).startswith(WRITERS))
    assert await store.read(lambda s: list(s.exec(ours))) == ["a"]
    assert await count(store) == 1


async def test_a_reading_sees_one_moment(store: Store) -> None:
    """What is committed while a reading goes on is not in it."""
    looked, changed = threading.Event(), threading.Event()

    def look(session: Session) -> list[int]:
        counted = select(func.count(col(Delivery.id)))
        first = session.exec(counted).one()
        looked.set()
        assert changed.wait(10)
        return [first, session.exec(counted).one()]

    reading = asyncio.ensure_future(store.read(look))
    assert await asyncio.to_thread(looked.wait, 10)
    await store.write(lambda s: deliveries.take(s, delivery("a"), NOW))
    changed.set()
    assert await reading == [0, 0]
    assert await count(store) == 1


async def test_a_database_that_refuses_is_a_fault_that_passes(store: Store) -> None:
    """Every caller of that commit hears it as `Transient`, nothing is kept of it, and later it works."""
    async with locked(store):
        heard = await asyncio.gather(
            *(store.write(lambda s, g=guid: deliveries.take(s, delivery(g), NOW)) for guid in "ab"),  # type: ignore[misc]
            return_exceptions=True,
        )
    assert [type(error) for error in heard] == [Transient] * 2
    assert {str(error) for error in heard} <= {
        "the database refuses: database is locked",
        "the database refuses: canceling statement due to lock timeout",
    }
    assert await count(store) == 0
    refused = store.refused
    assert refused > 0
    assert await store.write(lambda s: deliveries.take(s, delivery("a"), NOW)) == "accepted"
    with pytest.raises(ZeroDivisionError):
        await store.write(lambda _: 1 / 0)
    assert store.refused == refused


async def test_a_closed_store_refuses_at_once(database: str) -> None:
    """Whoever comes late does not wait for a writer that has gone."""
    store = open_store(database)
    assert await store.write(lambda _: 1) == 1
    await store.close()
    with pytest.raises(Transient, match="closed"):
        await asyncio.wait_for(store.write(lambda _: 1), 5)
    with pytest.raises(Transient, match="closed"):
        await asyncio.wait_for(store.read(lambda _: 1), 5)


@pytest.mark.parametrize("together", [False, True])
async def test_a_library_that_panics_ends_no_writer(store: Store, together: bool) -> None:
    """Panics of libraries in Rust are no `Exception`: the work is undone and its caller told, as of any other."""

    class Panic(BaseException):
        pass

    def panics(session: Session) -> None:
        deliveries.take(session, delivery("lost"), NOW)
        raise Panic("index out of bounds")

    async with held(store):
        works: list[Callable[[Session], object]] = [panics]
        if together:
            works.append(lambda s: deliveries.take(s, delivery("kept"), NOW))
        going = [asyncio.ensure_future(store.write(work)) for work in works]
        await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="Panic: index out of bounds"):
        await asyncio.wait_for(going[0], 10)
    assert [await asyncio.wait_for(one, 10) for one in going[1:]] == ["accepted"] * together
    assert await asyncio.wait_for(store.write(lambda s: deliveries.take(s, delivery("next"), NOW)), 10) == "accepted"
    assert await count(store) == 1 + together


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_work_that_goes_on_after_a_failed_statement_takes_no_other_along(store: Store) -> None:
    """PostgreSQL refuses whatever follows: that is undone with this work, and told it alone."""

    def goes_on(session: Session) -> str:
        with suppress(DBAPIError):
            session.execute(text("SELECT nothing FROM nowhere"))
        return "done"

    async with held(store):
        works: list[Callable[[Session], object]] = [goes_on, lambda s: deliveries.take(s, delivery("a"), NOW)]
        going = [asyncio.ensure_future(store.write(work)) for work in works]
        await asyncio.sleep(0)
    heard = await asyncio.gather(*going, return_exceptions=True)
    assert isinstance(heard[0], RuntimeError)
    assert heard[1] == "accepted"
