"""What is kept of a run's clone, and that nothing of it outlives its use."""

from __future__ import annotations

from sqlmodel import func, select

from bot.store import Session, Store, clones, dispatches
from bot.store.tables import Blob, Run
from tests import rows
from tests.rows import NOW


async def begun(store: Store, number: int = 1) -> str:
    """A run with a clone."""

    def work(session: Session) -> str:
        run = rows.run(session, number, guid=f"g{number}")
        clones.begin(session, run.id, 7, "main", "c0ffee")
        return run.id

    return await store.write(work)


def blobs(session: Session) -> int:
    return session.exec(select(func.count()).select_from(Blob)).one()


async def test_the_first_commit_counts(store: Store) -> None:
    """Whoever comes later, perhaps from a stopped process, changes nothing."""
    run_id = await begun(store)
    await store.write(lambda s: clones.begin(s, run_id, 7, "main", "another"))
    row = await store.read(lambda s: clones.find(s, run_id))
    assert row is not None
    assert (row.commit, row.mark, row.blob) == ("c0ffee", "", None)


async def test_only_the_newest_is_kept(store: Store) -> None:
    """Bytes that a later state replaces go; too much is a mark without bytes, and so is nothing at all."""
    run_id = await begun(store)
    before = await store.read(blobs)
    for mark, data in (("one", b"1"), ("two", b"2"), ("many", None), ("three", b"3"), ("", b"")):
        await store.write(lambda s, mark=mark, data=data: clones.leave(s, run_id, mark, data, NOW))  # type: ignore[misc]  # mypy cannot infer the lambda's default
        row = await store.read(lambda s: clones.find(s, run_id))
        assert row is not None
        assert (row.mark, row.blob is not None) == (mark, bool(data))
        assert await store.read(blobs) == before + bool(data)


async def test_equal_bytes_of_two_runs_stay_for_the_other(store: Store) -> None:
    """They are one blob; and a run without a clone has none to forget."""
    one, two = await begun(store, 1), await begun(store, 2)
    before = await store.read(blobs)
    for run_id in (one, two):
        await store.write(lambda s, run_id=run_id: clones.leave(s, run_id, run_id, b"same", NOW))  # type: ignore[misc]  # mypy cannot infer the lambda's default
    await store.write(lambda s: clones.forget(s, one))
    assert await store.read(blobs) == before + 1
    await store.write(lambda s: clones.forget(s, two))
    assert await store.read(blobs) == before
    await store.write(lambda s: clones.forget(s, two))
    await store.write(lambda s: clones.leave(s, two, "late", b"late", NOW))
    assert await store.read(lambda s: clones.find(s, two)) is None


async def test_it_goes_with_the_run(store: Store) -> None:
    """Also with one that is cancelled while nobody works on it."""
    run_id = await begun(store)
    await store.write(lambda s: clones.leave(s, run_id, "m", b"m", NOW))
    await store.write(lambda s: dispatches.cancel(s, s.get_one(Run, run_id), "meg", NOW))
    assert await store.read(lambda s: clones.find(s, run_id)) is None
