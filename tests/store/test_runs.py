"""Whose turn it is, recovery after a death, cancelling."""

from __future__ import annotations

from datetime import timedelta

from bot.model.state import AttemptState, DispatchState, RunState
from bot.store import Session, Store, dispatches, leases, runs
from bot.store.tables import Attempt, Dispatch, Run
from tests import rows

from .conftest import NOW


async def claim(store: Store, owner: str = "me") -> int | None:
    """The number of the claimed run, for reading."""

    def work(session: Session) -> int | None:
        run_id = runs.claim(session, owner, NOW)
        return None if run_id is None else session.get_one(Run, run_id).number

    return await store.write(work)


async def end(store: Store, number: int, thread: int = 1) -> None:
    def work(session: Session) -> None:
        found = dispatches.numbered(session, rows.thread(session, thread).id, number)
        assert found is not None
        found.state = RunState.SUCCEEDED
        session.add(found)

    await store.write(work)


async def test_one_run_of_a_thread_at_a_time_in_dispatch_order(store: Store) -> None:
    """The second waits until the first has ended."""
    await store.write(lambda s: rows.run(s, guid="a"))
    await store.write(lambda s: rows.run(s, guid="b"))
    assert await claim(store) == 1
    assert await claim(store) is None
    await end(store, 1)
    assert await claim(store) == 2


async def test_threads_run_side_by_side_oldest_first(store: Store) -> None:
    """A busy thread does not starve another."""
    await store.write(lambda s: rows.run(s, 1, guid="a"))
    await store.write(lambda s: rows.run(s, 1, guid="b"))
    await store.write(lambda s: rows.run(s, 2, guid="c"))
    first = await store.write(lambda s: runs.claim(s, "me", NOW))
    second = await store.write(lambda s: runs.claim(s, "me", NOW))
    both = await store.read(lambda s: [s.get_one(Run, i or "").thread_id for i in (first, second)])
    assert len(set(both)) == 2
    assert await claim(store) is None


async def test_a_run_that_waits_for_a_time_keeps_its_place(store: Store) -> None:
    """Until then nothing of its thread starts; afterwards it goes first."""
    await store.write(lambda s: rows.run(s, guid="a"))
    await store.write(lambda s: rows.run(s, guid="b"))
    run_id = await store.write(lambda s: runs.claim(s, "me", NOW))
    assert run_id is not None
    later = NOW + timedelta(seconds=20)
    await store.write(lambda s: runs.release(s, s.get_one(Run, run_id), NOW, later))
    assert await claim(store) is None
    assert await store.read(lambda s: runs.next_due(s, NOW)) == later
    assert await store.read(lambda s: runs.next_due(s, later)) is None
    assert await store.write(lambda s: runs.claim(s, "me", later)) == run_id


async def test_recovery_keeps_every_attempt_and_goes_first(store: Store) -> None:
    """What a dead owner ran is interrupted, its run is queued at the front; our own runs stay."""
    await store.write(lambda s: rows.run(s, 1, guid="a"))
    await store.write(lambda s: rows.run(s, 1, guid="b"))
    await store.write(lambda s: rows.run(s, 2, guid="c"))
    dead = await store.write(lambda s: runs.claim(s, "dead", NOW))
    mine = await store.write(lambda s: runs.claim(s, "me", NOW))
    assert dead is not None
    assert mine is not None

    def begin(session: Session) -> None:
        frame = runs.rows(session, dead).root
        session.add(Attempt(run_id=dead, frame_id=frame.id, step="ask", kind="agent", number=1, started_at=NOW))

    await store.write(begin)
    assert await store.write(lambda s: leases.recover(s, "me", NOW)) == [dead]
    found = await store.read(lambda s: runs.rows(s, dead))
    assert [a.state for a in found.attempts] == [AttemptState.INTERRUPTED]
    assert (found.run.state, found.run.front) == (RunState.QUEUED, 1)
    assert (await store.read(lambda s: runs.rows(s, mine))).run.state is RunState.RUNNING
    assert await store.write(lambda s: runs.claim(s, "me", NOW)) == dead


async def test_a_queued_run_is_cancelled_at_once_a_running_one_by_its_worker(store: Store) -> None:
    """The running one is only told; the bell says so."""
    await store.write(lambda s: rows.run(s, 1, guid="a"))
    await store.write(lambda s: rows.run(s, 1, guid="b"))
    running = await store.write(lambda s: runs.claim(s, "me", NOW))
    assert running is not None

    def cancel(session: Session) -> list[bool]:
        thread_id = session.get_one(Run, running).thread_id
        return [dispatches.cancel(session, r, "ana", NOW) for r in dispatches.open_of_thread(session, thread_id)]

    bell = store.bell("cancel")
    assert await store.write(cancel) == [False, True]
    assert bell.count == 1
    assert await store.read(lambda s: runs.cancelled(s, "me")) == [running]
    states = await store.read(
        lambda s: [(r.state, s.get_one(Dispatch, r.dispatch_id).state) for r, _, _ in runs.recent(s)]
    )
    assert states == [(RunState.CANCELLED, DispatchState.CANCELLED), (RunState.RUNNING, DispatchState.QUEUED)]


async def test_what_it_waited_is_no_work(store: Store) -> None:
    """Waits that are over, and one that goes on when it ends."""

    def work(session: Session) -> list[float]:
        run = rows.run(session, guid="a")
        found = [run.worked(NOW)]
        runs.claim(session, "me", NOW)
        runs.wait(session, run, NOW + timedelta(minutes=1), None)
        runs.wake(session, run.id)
        runs.claim(session, "me", NOW + timedelta(hours=1))
        found.append(run.worked(NOW + timedelta(hours=1, minutes=1)))
        runs.wait(session, run, NOW + timedelta(hours=1, minutes=2), None)
        return [*found, run.worked(NOW + timedelta(days=9))]

    assert await store.write(work) == [0, 120, 180]
