"""Runs that wait, on a real queue: workers wake for them, also after a restart, and hold nothing meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from sqlmodel import col, select

from bot.engine.worker import Workers
from bot.model.clock import SystemClock
from bot.model.state import AttemptState, GateState, RunState
from bot.queue import EmbeddedQueue
from bot.store import Session, Store, gates, runs
from bot.store.tables import Attempt, Gate, Run
from bot.workflows.answers import taken
from tests import rows
from tests.engine.play import workflow_of
from tests.engine.test_worker import Floor, ScriptedDesk
from tests.rows import NOW

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


async def test_a_time_out_comes_while_the_process_is_away(store: Store) -> None:
    """A process that starts after it takes the run at once; one that starts before it leaves it alone."""
    async with floor(store, ASK) as here:
        await here.until(lambda: waits(here))
    async with floor(store, ASK, begin=False, after=3 * 86400 - 1) as here:
        assert await store.read(runs.next_due) == NOW + timedelta(days=3)
        assert await store.write(lambda s: runs.claim(s, "other", here.clock.now(), timedelta(seconds=30))) is None
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
    assert await store.read(runs.next_due) is None


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


@pytest.mark.parametrize("busy", [False, True])
async def test_the_queue_wakes_by_itself_when_a_time_comes(store: Store, busy: bool) -> None:
    """Nobody rings: the queue sleeps exactly until the earliest run is due, while others are behind it."""
    text = workflow_of("- {id: w, wait: {for: 1s}}\n- {id: after, run: echo}")
    clock, desk = SystemClock(), ScriptedDesk(text)
    now = clock.now()

    def begin(session: Session) -> None:
        rows.run(session, guid="g", workflow="main", files={".github/bot.yml": text}, now=now)
        if busy:
            other = rows.run(session, 2, guid="h", workflow="main", files={".github/bot.yml": text}, now=now)
            other.state, other.not_before = RunState.WAITING, now + timedelta(days=9)
            session.add(other)

    await store.write(begin)
    here = Floor(store, desk)
    here.queue = EmbeddedQueue(store, clock)
    here.workers = Workers(store, here.queue, desk, clock, 2)
    here.start()
    try:
        await here.until(lambda: waits_first(store))
        await here.until(lambda: ended_first(store))
    finally:
        await here.stop()
    (gate, *_) = await store.read(lambda s: list(s.exec(select(Gate))))
    assert gate.opened_at is not None
    (_, after) = await store.read(lambda s: list(s.exec(select(Attempt).order_by(col(Attempt.id)))))
    assert after.started_at - gate.opened_at >= timedelta(seconds=1)


async def first(store: Store) -> RunState:
    return await store.read(lambda s: s.exec(select(Run.state).order_by(col(Run.id))).first() or RunState.QUEUED)


async def waits_first(store: Store) -> bool:
    return await first(store) is RunState.WAITING


async def ended_first(store: Store) -> bool:
    return (await first(store)).ended


async def test_a_time_comes_while_another_branch_works(store: Store) -> None:
    """The run is running, so no queue wakes it: its worker does."""
    steps = """
- id: fan
  parallel: {branches: {a: [{id: ok, wait: {for: 1s}}, {id: one, run: x}], b: [{id: slow, run: y}]}}
"""
    text = workflow_of(steps)
    clock, desk = SystemClock(), ScriptedDesk(text)
    here = Floor(store, desk)
    here.queue = EmbeddedQueue(store, clock)
    here.workers = Workers(store, here.queue, desk, clock, 1)
    import asyncio

    freed = asyncio.Event()

    async def perform(begun: object) -> object:
        if begun.step.id == "one":  # type: ignore[attr-defined]
            freed.set()
        await freed.wait()
        return await desk.done(begun)  # type: ignore[arg-type]

    desk.perform_with = perform  # type: ignore[assignment]
    await store.write(
        lambda s: rows.run(s, guid="g", workflow="main", files={".github/bot.yml": text}, now=clock.now()) and None
    )
    here.start()
    try:
        await here.until(here.ended)
    finally:
        await here.stop()
    assert desk.performed == ["1.slow#1", "1.one#1"]
