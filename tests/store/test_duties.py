"""A duty has one owner, whoever asks, and moves only when that is dead or has left."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import col, update

from bot.errors import Lost
from bot.store import Session, Store, duties, processes
from bot.store.fence import FencedStore
from bot.store.tables import Process

BOTH = ("intake", "outbox")
SILENT = processes.DEAD_AFTER + timedelta(seconds=1)


async def keep(store: Store, owner: str, *names: str) -> set[str]:
    """What it has once it has beaten."""

    def work(session: Session) -> set[str]:
        processes.beat(session, owner, host="h", kind="worker")
        return duties.keep(session, owner, names)

    return await store.write(work)


async def silent(store: Store, *owners: str) -> None:
    """These have not beaten for too long."""
    aged = update(Process).where(col(Process.id).in_(owners))
    await store.write(lambda s: s.execute(aged.values(beat_at=processes.now(s) - SILENT)))


async def held(store: Store, name: str) -> list[str]:
    """Who has it, as the fence sees it."""
    return await store.read(lambda s: [owner for owner in ("a", "b") if duties.held(s, name, owner)])


async def test_the_first_gets_what_is_free_and_keeps_it(store: Store) -> None:
    """The second stands by; what was not asked for is nobody's."""
    assert await keep(store, "a", *BOTH) == set(BOTH)
    assert await keep(store, "b", *BOTH) == set()
    assert await keep(store, "a", "intake") == {"intake"}
    assert [await held(store, name) for name in (*BOTH, "other")] == [["a"], ["a"], []]


async def test_it_moves_when_its_owner_is_dead(store: Store) -> None:
    """And then the first owner has it no longer, though it lives again."""
    await keep(store, "a", *BOTH)
    await keep(store, "b")
    await silent(store, "a")
    assert await keep(store, "b", "outbox") == {"outbox"}
    assert [await held(store, name) for name in BOTH] == [["a"], ["b"]]
    assert await keep(store, "a", *BOTH) == {"intake"}


async def test_it_stays_where_the_database_was_away_for_all(store: Store) -> None:
    """Whoever comes back first takes nothing from one that could not beat either; later it does."""
    await keep(store, "a", *BOTH)
    await keep(store, "b")
    await silent(store, "a", "b")
    assert await keep(store, "b", *BOTH) == set()
    await silent(store, "a")
    assert await keep(store, "b", *BOTH) == set(BOTH)


async def test_a_late_owner_goes_on_where_nobody_took_it(store: Store) -> None:
    """The owner counts, not the time: nobody else can have done anything meanwhile."""
    await keep(store, "a", *BOTH)
    await silent(store, "a")
    assert await held(store, "intake") == ["a"]
    assert await keep(store, "a", *BOTH) == set(BOTH)


async def test_a_fenced_store_writes_nothing_for_who_has_lost_it(store: Store) -> None:
    """In the transaction itself; reading goes on."""
    await keep(store, "a", "intake")
    fenced = FencedStore(store, lambda s: duties.held(s, "intake", "a"), "the duty `intake`")
    await fenced.write(lambda s: processes.beat(s, "one", host="h", kind="worker"))
    await store.write(lambda s: processes.leave(s, "a"))
    await keep(store, "b", "intake")
    with pytest.raises(Lost, match="another process has the duty `intake`"):
        await fenced.write(lambda s: processes.beat(s, "two", host="h", kind="worker"))
    assert await fenced.read(lambda s: [s.get(Process, name) is not None for name in ("one", "two")]) == [True, False]
    assert fenced.bell("duty") is store.bell("duty")
    await fenced.close()
    assert await store.read(processes.living) == {"one", "b"}
