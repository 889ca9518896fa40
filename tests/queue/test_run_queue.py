"""The claim loop: woken by rows, by time, and never twice for one run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.model.clock import SystemClock
from bot.model.state import RunState
from bot.queue import RunQueue
from bot.store import Session, Store, open_store, runs
from bot.store.database import ring
from bot.store.tables import Run
from tests import rows


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'bot.db'}")
    yield opened
    await opened.close()


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
    got = await asyncio.wait_for(asyncio.gather(*claims), 10)
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
