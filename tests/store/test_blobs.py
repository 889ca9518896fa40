"""Bytes that nothing refers to go, and a writer who begins to refer to them meanwhile never loses them."""

from __future__ import annotations

from sqlmodel import Session, col, func, select

from bot.store import Store, blobs, clones, snapshots
from bot.store.sweep import Sweeper
from bot.store.tables import Blob, Run
from tests import rows
from tests.rows import NOW
from tests.store.test_retention import At


async def count(store: Store) -> int:
    return await store.read(lambda session: session.exec(select(func.count(col(Blob.digest)))).one())


async def look(store: Store) -> int:
    """One look, from its beginning to its end."""
    number = await store.write(lambda session: blobs.begin(session, NOW))
    return await Sweeper(store, At(NOW)).sweep(blobs.unused(await blobs.used(store), number))


async def test_what_nothing_refers_to_goes(store: Store) -> None:
    """Whenever it was kept."""

    def work(session: Session) -> None:
        run = rows.run(session, guid="a")
        run.thread_blob = snapshots.put_blob(session, b"used", NOW)
        snapshots.put_blob(session, b"unused", NOW)

    await store.write(work)
    assert await look(store) == 1
    assert await store.read(lambda session: session.exec(select(Blob.data)).all()) == [b"used"]


async def test_what_is_kept_again_meanwhile_stays(store: Store) -> None:
    """It was unused when the look began; a writer keeps the same bytes before they are deleted."""
    await store.write(lambda session: snapshots.put_blob(session, b"same", NOW))
    number = await store.write(lambda session: blobs.begin(session, NOW))
    used = await blobs.used(store)

    def writer(session: Session) -> None:
        run = rows.run(session, guid="a")
        # the clock of whoever writes may be as wrong as it likes
        run.thread_blob = snapshots.put_blob(session, b"same", NOW.replace(year=2020))

    await store.write(writer)
    assert await Sweeper(store, At(NOW)).sweep(blobs.unused(used, number)) == 0
    run = await store.read(lambda session: session.exec(select(Run)).one())
    assert await store.read(lambda session: snapshots.get_blob(session, run.thread_blob or "")) == b"same"


async def test_what_is_kept_for_the_first_time_meanwhile_stays(store: Store) -> None:
    """And goes with the next look, if nothing refers to it by then."""
    number = await store.write(lambda session: blobs.begin(session, NOW))
    used = await blobs.used(store)
    await store.write(lambda session: snapshots.put_blob(session, b"new", NOW))
    assert await Sweeper(store, At(NOW)).sweep(blobs.unused(used, number)) == 0
    assert await look(store) == 1


async def test_large_ones_go_a_few_at_a_time(store: Store) -> None:
    """One write deletes eight mebibytes at most, or one blob."""
    third = blobs.MOST // 3
    for text in (b"a", b"b", b"c", b"d"):
        await store.write(lambda session, text=text: snapshots.put_blob(session, text * third, NOW))  # type: ignore[misc]  # mypy infers no type for a default
    number = await store.write(lambda session: blobs.begin(session, NOW))
    page = await store.read(lambda session: blobs.unused(set(), number).find(session, ""))
    assert len(page.due) == 3
    assert page.last == page.due[-1]
    assert await look(store) == 4
    assert await count(store) == 0


async def test_what_a_clone_holds_stays_as_long_as_its_run(store: Store) -> None:
    """A run that goes on elsewhere finds it; when the run is over it is gone at once."""

    def leaves(session: Session) -> str:
        run = rows.run(session, guid="a")
        clones.begin(session, run.id, 7, "main", "c0ffee")
        clones.leave(session, run.id, "mark", b"left", NOW)
        return run.id

    run_id = await store.write(leaves)
    assert await look(store) == 0
    assert await count(store) == 1
    await store.write(lambda session: clones.forget(session, run_id))
    assert await count(store) == 0
