"""A duty has one owner, whoever asks, and moves only when its time is over or it is given back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.errors import Lost
from bot.store import Session, Store, duties, processes
from bot.store.fence import FencedStore
from bot.store.tables import Duty, Process

BOTH = ("intake", "outbox")


async def held(store: Store, name: str) -> list[str]:
    """Who has it, as the fence sees it."""
    return await store.read(lambda s: [owner for owner in ("a", "b") if duties.held(s, name, owner)])


async def test_the_first_gets_what_is_free_and_keeps_it(store: Store) -> None:
    """The second stands by; what was not asked for is nobody's."""
    assert await store.write(lambda s: duties.keep(s, "a", BOTH)) == set(BOTH)
    assert await store.write(lambda s: duties.keep(s, "b", BOTH)) == set()
    assert await store.write(lambda s: duties.keep(s, "a", ("intake",))) == {"intake"}
    assert [await held(store, name) for name in (*BOTH, "other")] == [["a"], ["a"], []]


async def test_it_moves_when_its_time_is_over(store: Store) -> None:
    """Not before, though its owner has not been heard of; and then the first owner has it no longer."""
    await store.write(lambda s: duties.keep(s, "a", BOTH, timedelta(hours=1)))
    assert await store.write(lambda s: duties.keep(s, "b", BOTH)) == set()
    await store.write(lambda s: duties.keep(s, "a", ("outbox",), timedelta(0)))
    assert await store.write(lambda s: duties.keep(s, "b", BOTH)) == {"outbox"}
    assert [await held(store, name) for name in BOTH] == [["a"], ["b"]]
    assert await store.write(lambda s: duties.keep(s, "a", BOTH)) == {"intake"}


async def test_a_late_owner_goes_on_where_nobody_took_it(store: Store) -> None:
    """The owner counts, not the time: nobody else can have done anything meanwhile."""
    await store.write(lambda s: duties.keep(s, "a", BOTH, timedelta(0)))
    assert await held(store, "intake") == ["a"]
    assert await store.write(lambda s: duties.keep(s, "a", BOTH)) == set(BOTH)


async def test_keeping_prolongs(store: Store) -> None:
    """From now on, by the database's clock."""
    await store.write(lambda s: duties.keep(s, "a", ("intake",), timedelta(0)))
    await store.write(lambda s: duties.keep(s, "a", ("intake",)))

    def left(session: Session) -> float:
        return (session.get_one(Duty, "intake").until - processes.now(session)).total_seconds()

    assert duties.LEASE.total_seconds() - 5 < await store.read(left) <= duties.LEASE.total_seconds()


async def test_what_is_given_back_is_free_at_once(store: Store) -> None:
    """And it rings."""
    await store.write(lambda s: duties.keep(s, "a", BOTH))
    bell = store.bell("duty")
    await store.write(lambda s: duties.give(s, "a"))
    assert bell.count == 1
    assert await store.write(lambda s: duties.keep(s, "b", BOTH)) == set(BOTH)


async def test_a_fenced_store_writes_nothing_for_who_has_lost_it(store: Store) -> None:
    """In the transaction itself; reading goes on."""
    await store.write(lambda s: duties.keep(s, "a", ("intake",), timedelta(0)))
    fenced = FencedStore(store, lambda s: duties.held(s, "intake", "a"), "the duty `intake`")
    await fenced.write(lambda s: processes.beat(s, "one", host="h", kind="worker"))
    await store.write(lambda s: duties.keep(s, "b", ("intake",)))
    with pytest.raises(Lost, match="another process has the duty `intake`"):
        await fenced.write(lambda s: processes.beat(s, "two", host="h", kind="worker"))
    assert await fenced.read(lambda s: [s.get(Process, name) is not None for name in ("one", "two")]) == [True, False]
    assert fenced.bell("duty") is store.bell("duty")
    await fenced.close()
    assert await store.read(processes.living) == {"one"}
