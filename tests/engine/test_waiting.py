"""Runs that wait, on a real queue: workers wake for them, also after a restart, and hold nothing meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from sqlmodel import col, select

from bot.engine.commit import Begun
from bot.engine.worker import Workers
from bot.model.clock import SystemClock
from bot.model.outcome import Outcome
from bot.model.state import AttemptState, GateState, RunState
from bot.queue import RunQueue
from bot.store import Session, Store, gates, runs
from bot.store.tables import Attempt, Gate, Run
from bot.workflows.answers import taken
from tests import rows
from tests.databases import on_both
from tests.engine.play import workflow_of
from tests.engine.test_worker import Floor, ScriptedDesk
from tests.rows import NOW

pytestmark = on_both


ASK = "- {id: ok, ask: Fine?, timeout: 3d, on_timeout: reject, next: [{to: after}]}\n- {id: after, run: echo}"


@asynccontextmanager
async def floor(store: Store, steps: str, *, begin: bool = True, after: float = 0) -> AsyncIterator[Floor]:
    """Workers of a process; with `begin` a run of these steps is queued. Their clock stands `after` seconds later."""
    text = workflow_of(steps)
    here = Floor(store, ScriptedDesk(text))
    here.clock.advance(after)
    if begin:
        await store.write(
            lambda s: rows.run(s, guid="g", workflow="main", files={".github/bot.yml": text}, comment_id=501)
        )
    here.start()
    try:
        yield here
    finally:
        await here.stop()


async def waits(here: Floor) -> bool:
    return await here.states() == [RunState.WAITING] and here.workers.held == 0


async def ledger(store: Store) -> list[tuple[str, AttemptState]]:
    query = select(Attempt).where(Attempt.kind != "end").order_by(col(Attempt.id))
    return await store.read(lambda s: [(each.step, each.state) for each in s.exec(query)])


async def reminded(store: Store) -> bool:
    """Whether people were reminded, and the run is away again."""
    (gate,) = await store.read(lambda s: list(s.exec(select(Gate))))
    due = await store.read(lambda s: runs.next_due(s, NOW))
    return gate.reminded_at is not None and due == gate.deadline


async def test_a_time_out_comes_while_the_process_is_away(store: Store) -> None:
    """A process that starts after it takes the run at once; one that starts before it leaves it alone."""
    async with floor(store, ASK) as here:
        await here.until(lambda: waits(here))
    async with floor(store, ASK, begin=False, after=1.5 * 86400) as here:
        await here.until(lambda: reminded(store))
    async with floor(store, ASK, begin=False, after=3 * 86400 - 1) as here:
        assert await store.read(lambda s: runs.next_due(s, NOW)) == NOW + timedelta(days=3)
        assert await store.write(lambda s: runs.claim(s, "other", here.clock.now())) is None
        assert await here.states() == [RunState.WAITING]
    async with floor(store, ASK, begin=False, after=3 * 86400) as here:
        await here.until(here.ended)
        assert [reason.reason for _, reason in here.desk.said] == ["ok failed: rejected"]
    (gate,) = await store.read(lambda s: list(s.exec(select(Gate))))
    assert (gate.state, gate.answer) == (GateState.EXPIRED, None)


async def test_an_answer_wakes_a_worker_that_waits(store: Store) -> None:
    """At once; and the time-out that it made pointless wakes nobody."""
    async with floor(store, ASK) as here:
        await here.until(lambda: waits(here))

        def answer(session: Session) -> None:
            gate = session.exec(select(Gate)).one()
            gates.settle(session, gate, {**taken(gate.options, {"answer": "approve"}), "by": "meg"})

        await store.write(answer)
        await here.until(here.ended)
        assert await ledger(store) == [("ok", AttemptState.SUCCESS), ("after", AttemptState.SUCCESS)]
    assert await store.read(lambda s: runs.next_due(s, NOW)) is None


async def test_an_answer_that_came_while_the_process_died_is_found(store: Store) -> None:
    """Whoever starts next goes on from the row."""
    async with floor(store, ASK) as here:
        await here.until(lambda: waits(here))

    def answer(session: Session) -> None:
        gate = session.exec(select(Gate)).one()
        gates.settle(session, gate, {**taken(gate.options, {"answer": "approve"}), "by": "meg"})

    await store.write(answer)
    async with floor(store, ASK, begin=False) as here:
        await here.until(here.ended)
    assert await ledger(store) == [("ok", AttemptState.SUCCESS), ("after", AttemptState.SUCCESS)]


def on_real_time(store: Store, desk: ScriptedDesk, workers: int) -> Floor:
    """Workers whose clock is the machine's."""
    here, clock = Floor(store, desk, workers), SystemClock()
    here.queue = RunQueue(store, clock)
    here.workers = Workers(store, here.queue, desk, clock, workers)
    return here


@asynccontextmanager
async def at_work(here: Floor) -> AsyncIterator[None]:
    here.start()
    try:
        yield
    finally:
        await here.stop()


async def states(store: Store) -> list[RunState]:
    return await store.read(lambda s: [run.state for run in s.exec(select(Run).order_by(col(Run.id)))])


@pytest.mark.parametrize("busy", [False, True])
async def test_the_queue_wakes_by_itself_when_a_time_comes(store: Store, busy: bool) -> None:
    """Nobody rings: the queue sleeps until the earliest of the runs that wait is due, and no longer."""
    text = workflow_of("- {id: w, wait: {for: 1s}}\n- {id: after, run: echo}")
    now = SystemClock().now()

    def begin(session: Session) -> None:
        rows.run(session, guid="g", workflow="main", files={".github/bot.yml": text}, now=now)
        if busy:
            other = rows.run(session, 2, guid="h", workflow="main", files={".github/bot.yml": text}, now=now)
            other.state, other.not_before = RunState.WAITING, now + timedelta(days=9)
            session.add(other)

    async def ended_first() -> bool:
        return (await states(store))[0].ended

    await store.write(begin)
    here = on_real_time(store, ScriptedDesk(text), 2)
    async with at_work(here):
        # that it waited is told by the times below: who looks may be slower than a second
        await here.until(ended_first)
    (gate,) = await store.read(lambda s: list(s.exec(select(Gate))))
    (_, after) = await store.read(lambda s: list(s.exec(select(Attempt).order_by(col(Attempt.id)))))
    assert gate.opened_at is not None
    assert after.started_at - gate.opened_at >= timedelta(seconds=1)


async def test_a_time_comes_while_another_branch_works(store: Store) -> None:
    """The run is running, so no queue wakes it: its worker does."""
    steps = """
- id: fan
  parallel: {branches: {a: [{id: ok, wait: {for: 1s}}, {id: one, run: x}], b: [{id: slow, run: y}]}}
"""
    text = workflow_of(steps)
    desk, freed = ScriptedDesk(text), asyncio.Event()

    async def perform(begun: Begun) -> Outcome:
        if begun.step.id == "one":
            freed.set()
        await freed.wait()
        return await desk.done(begun)

    desk.perform_with = perform

    def begin(session: Session) -> None:
        rows.run(session, guid="g", workflow="main", files={".github/bot.yml": text}, now=SystemClock().now())

    await store.write(begin)
    here = on_real_time(store, desk, 1)
    async with at_work(here):
        await here.until(here.ended)
    assert desk.performed == ["1.slow#1", "1.one#1"]
