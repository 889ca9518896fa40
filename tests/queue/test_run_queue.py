"""The claim loop: woken by rows, by time, and never twice for one run."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from time import time

import pytest
from sqlmodel import update
from ulid import ULID

from bot.model import ident
from bot.model.clock import SystemClock
from bot.model.ident import new_id
from bot.model.state import RunState
from bot.queue import Presence, RunQueue
from bot.store import Session, Store, processes, runs
from bot.store.database import ring
from bot.store.tables import Attempt, Process, Run
from tests import rows
from tests.databases import on_both

pytestmark = on_both


async def test_a_waiting_worker_is_woken_by_a_new_run(store: Store) -> None:
    """No polling: the claim returns as soon as the row is committed."""
    queue = RunQueue(store, SystemClock())
    claiming = asyncio.ensure_future(queue.claim())
    await asyncio.sleep(0)
    run = await store.write(lambda s: rows.run(s, guid="a", now=datetime.now(UTC)))
    assert await asyncio.wait_for(claiming, 5) == run.id


async def test_many_workers_get_each_run_once(store: Store) -> None:
    """Eight workers, twenty threads: twenty claims, no run twice."""
    queue = RunQueue(store, SystemClock())
    claims = [asyncio.ensure_future(queue.claim()) for _ in range(20)]
    made = [await store.write(lambda s, n=n: rows.run(s, n, guid=f"g{n}").id) for n in range(1, 21)]  # type: ignore[misc]  # mypy cannot infer the lambda's default
    got = await asyncio.wait_for(asyncio.gather(*claims), 60)
    assert sorted(got) == sorted(made)


async def test_a_run_is_claimed_when_its_time_has_come(store: Store) -> None:
    """A claim loop that waits for a time wakes by itself."""
    queue = RunQueue(store, SystemClock())
    await store.write(lambda s: rows.run(s, guid="a"))
    run_id = await queue.claim()
    due = datetime.now(UTC) + timedelta(milliseconds=150)
    await store.write(lambda s: runs.release(s, s.get_one(Run, run_id), due, due))
    assert await asyncio.wait_for(queue.claim(), 5) == run_id
    assert datetime.now(UTC) >= due


async def test_a_run_whose_time_has_come_behind_another_costs_nothing(store: Store) -> None:
    """It waits for the bell that rings when the other one is over, and is not asked for again and again."""
    queue = RunQueue(store, SystemClock())
    first = await store.write(lambda s: rows.run(s, guid="a").id)
    await store.write(lambda s: rows.run(s, guid="b"))
    assert await queue.claim() == first
    late = datetime.now(UTC) - timedelta(seconds=1)
    await store.write(lambda s: s.execute(update(Run).where(Run.id != first).values(not_before=late)))  # type: ignore[arg-type]  # SQLModel types a column as its value
    before = store.commits
    claiming = asyncio.ensure_future(queue.claim())
    await asyncio.sleep(0.5)
    assert store.commits - before <= 1
    await store.write(lambda s: runs.wait(s, s.get_one(Run, first), datetime.now(UTC), None))
    assert await asyncio.wait_for(claiming, 5) != first


async def test_runs_of_a_dead_process_are_taken_over(store: Store) -> None:
    """A new owner recovers them; its own stay."""
    dead = RunQueue(store, SystemClock())
    await store.write(lambda s: rows.run(s, guid="a"))
    run_id = await dead.claim()
    new = RunQueue(store, SystemClock())
    assert await new.recover() == 1
    assert await asyncio.wait_for(new.claim(), 5) == run_id
    assert await new.recover() == 0
    assert (await store.read(lambda s: s.get_one(Run, run_id))).state is RunState.RUNNING


async def test_runs_that_died_together_start_again_one_at_a_time(store: Store) -> None:
    """Until they have ended nothing runs beside one of them, so that a further death tells which it was."""
    dead = RunQueue(store, SystemClock())
    for number in (1, 2, 3):
        await store.write(lambda s, n=number: rows.run(s, n, guid=f"g{n}"))  # type: ignore[misc]  # mypy cannot infer the lambda's default
    for _ in range(2):
        await dead.claim()
    new = RunQueue(store, SystemClock())
    assert await new.recover() == 2
    first = await asyncio.wait_for(new.claim(), 5)
    waiting = asyncio.ensure_future(new.claim())
    done, _ = await asyncio.wait([waiting], timeout=0.2)
    assert not done

    def end(session: Session) -> None:
        run = session.get_one(Run, first)
        run.state = RunState.SUCCEEDED
        session.add(run)
        ring(session, "queue")

    await store.write(end)
    assert await asyncio.wait_for(waiting, 5) != first


async def test_two_processes_take_each_suspect_alone(store: Store) -> None:
    """It is the rows that know them: another process than the one that found them holds one at a time, too."""
    dead = RunQueue(store, SystemClock())
    for number in (1, 2, 3):
        await store.write(lambda s, n=number: rows.run(s, n, guid=f"g{n}"))  # type: ignore[misc]  # mypy cannot infer the lambda's default
    for _ in range(2):
        await dead.claim()
    finder, other = [RunQueue(store, SystemClock(), await joined(store)) for _ in range(2)]
    assert await finder.recover() == 2
    one = await asyncio.wait_for(other.claim(), 5)
    two = await asyncio.wait_for(finder.claim(), 5)
    assert one != two
    waiting = [asyncio.ensure_future(queue.claim()) for queue in (finder, other)]
    done, _ = await asyncio.wait(waiting, timeout=0.2)
    assert not done

    def end(session: Session) -> None:
        for run_id in (one, two):
            run = session.get_one(Run, run_id)
            run.state = RunState.SUCCEEDED
            session.add(run)
        ring(session, "queue")

    await store.write(end)
    await asyncio.wait(waiting, timeout=5, return_when=asyncio.FIRST_COMPLETED)
    assert sum(each.done() for each in waiting) == 1
    for each in waiting:
        each.cancel()


async def joined(store: Store) -> Presence:
    """A process among others."""
    presence = Presence(store, kind="worker", alone=False)
    await presence.join()
    return presence


async def test_living_processes_leave_each_other_alone(store: Store) -> None:
    """Each keeps what it holds, also one that slept until it claimed something."""
    one, two = [RunQueue(store, SystemClock(), await joined(store)) for _ in range(2)]
    await store.write(lambda s: rows.run(s, guid="a"))
    old = timedelta(minutes=1)
    await store.write(lambda s: s.execute(update(Process).values(beat_at=processes.now(s) - old)))
    run_id = await one.claim()
    assert await two.recover() == 0
    assert await two.lost() == {run_id}
    assert await one.lost() == set()
    assert one.owner in await store.read(processes.living)


async def test_rows_of_whoever_goes_on_sort_behind_those_of_a_clock_that_is_ahead(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk goes on from the newest attempt."""
    monkeypatch.setattr(ident, "_IDS", ident._Ids())
    dead = RunQueue(store, SystemClock())
    await store.write(lambda s: rows.run(s, guid="a"))
    run_id = await dead.claim()
    ahead = str(ULID.from_timestamp(time() + 3_600))

    def began(session: Session) -> None:
        frame = runs.rows(session, run_id).root
        session.add(
            Attempt(
                id=ahead, run_id=run_id, frame_id=frame.id, step="s", kind="run", number=1, started_at=datetime.now(UTC)
            )
        )

    await store.write(began)
    new = RunQueue(store, SystemClock(), await joined(store))
    assert new_id() < ahead
    await new.recover()
    assert await new.claim() == run_id
    assert new_id() > ahead
