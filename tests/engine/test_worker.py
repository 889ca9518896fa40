"""Workers: one run each at a time, from outcome to outcome, whatever calls them off."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlmodel import col, select

from bot.engine import commit
from bot.engine.commit import Advance, Begun, Performed, Terms
from bot.engine.graph import End
from bot.engine.worker import LOOK, Workers
from bot.errors import ConfigurationError, NotFound, Transient, UserError
from bot.finding import Finding
from bot.model.outcome import Done, Outcome
from bot.model.state import AttemptState, RunState
from bot.queue import RunQueue
from bot.store import Session, Store, dispatches, leases, processes, runs
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Run
from bot.workflows import Budget, builtin_files, load
from tests import rows
from tests.databases import on_both
from tests.engine.play import workflow_of
from tests.engine.scene import StillClock, steps
from tests.rows import NOW, locked

pytestmark = on_both


Perform = Callable[[Begun], Awaitable[Outcome]]


class ScriptedDesk:
    """Everything a worker needs, decided by the test; each method notes its call."""

    def __init__(self, text: str = "") -> None:
        self.configuration = load({".github/bot.yml": text or steps(2)}, builtin_files())
        self.perform_with: Perform = self.done
        self.refuses: list[Exception | End] = []
        self.terms_fail: Exception | None = None
        self.performed: list[str] = []
        self.cleared: list[str] = []
        self.noted_runs: list[str] = []
        self.swept = 0
        self.admits = asyncio.Event()
        self.admits.set()
        self.said: list[tuple[str, End]] = []
        self.plainly: list[str] = []
        self.say_breaks = False

    @staticmethod
    async def done(begun: Begun) -> Outcome:
        return Done(begun.step.id)

    async def terms(self, found: RunRows) -> Terms:
        if self.terms_fail:
            raise self.terms_fail
        workflow = self.configuration.workflow_for("main")
        assert workflow is not None
        return Terms(self.configuration, workflow, Budget(), 50.0, self.say, lambda *_: None)

    async def admit(self, found: RunRows) -> End | None:
        await self.admits.wait()
        if self.refuses:
            answer = self.refuses.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        return None

    async def give(self, found: RunRows, terms: Terms) -> End | None:
        return None

    async def perform(self, begun: Begun, terms: Terms) -> Performed:
        self.performed.append(f"{begun.rows.run.number}.{begun.step.id}#{begun.attempt.number}")
        return Performed(await self.perform_with(begun))

    async def noted(self, run_id: str, terms: Terms) -> None:
        self.noted_runs.append(run_id)

    async def clear(self, run_id: str) -> None:
        self.cleared.append(run_id)

    async def sweep(self) -> None:
        self.swept += 1

    def say_plainly(self, session: Session, found: RunRows, end: End) -> None:
        self.plainly.append(end.reason)

    def say(self, session: Session, found: RunRows, end: End) -> None:
        if self.say_breaks:
            raise KeyError("a bug in what is said")
        self.said.append((f"r{found.run.number}", end))


class Floor:
    """Workers on a real queue, until the test ends."""

    def __init__(self, store: Store, desk: ScriptedDesk, count: int = 2) -> None:
        self.store, self.desk, self.clock = store, desk, StillClock()
        self.queue = RunQueue(store, self.clock)
        self.workers = Workers(store, self.queue, desk, self.clock, count)
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self.workers.run())

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task

    async def until(self, holds: Callable[[], Awaitable[object]]) -> None:
        """Wait for a condition; fails where the workers have died."""
        async with asyncio.timeout(20):
            while not await holds():
                if self.task is not None and self.task.done():
                    self.task.result()
                await asyncio.sleep(0.002)

    async def states(self) -> list[RunState]:
        return await self.store.read(lambda s: [r.state for r in s.exec(select(Run).order_by(col(Run.id)))])

    async def ended(self) -> bool:
        return all(state.ended for state in await self.states()) and self.workers.held == 0

    async def attempts(self) -> list[tuple[str, int, AttemptState, str]]:
        query = select(Attempt).order_by(col(Attempt.id))
        return await self.store.read(
            lambda s: [(a.step, a.number, a.state, a.error.get("code", "")) for a in s.exec(query)]
        )

    async def ask(self, *guids: str, number: int = 1) -> None:
        for guid in guids:
            await self.store.write(partial(rows.run, number=number, guid=guid, workflow="main"))


@asynccontextmanager
async def open_floor(store: Store, text: str = "", count: int = 2) -> AsyncIterator[Floor]:
    floor = Floor(store, ScriptedDesk(text), count)
    try:
        yield floor
    finally:
        await floor.stop()


class Held:
    """A step that goes on until it is let go."""

    def __init__(self) -> None:
        self.met, self.let_go, self.called_off = asyncio.Event(), asyncio.Event(), 0

    async def __call__(self, begun: Begun) -> Outcome:
        self.met.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.called_off += 1
            raise
        return Done(begun.step.id)


async def test_five_no_op_steps_cost_at_most_seven_commits(store: Store) -> None:
    """From the claim to the end: claim, first start, and one for each outcome with what follows from it."""
    async with open_floor(store, steps(5), count=1) as floor:
        counted: list[int] = []
        say = floor.desk.say

        def count(session: Session, found: RunRows, end: End) -> None:
            counted.append(store.commits + 1)  # the one that this is part of
            say(session, found, end)

        floor.desk.say = count  # type: ignore[method-assign]  # called within the last transaction
        await floor.ask("a")
        floor.start()
        await floor.until(lambda: _true(floor.desk.swept))
        before = store.commits
        await floor.until(floor.ended)
        assert len(await floor.attempts()) == 5
        assert counted[0] - before <= 7
    assert floor.desk.said == [("r1", End(RunState.SUCCEEDED))]


async def test_a_run_that_ends_where_it_was_driven_is_read_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its first step. What came of it is known from the last transaction, and nobody looks it up again."""
    async with open_floor(store, steps(5), count=1) as floor:
        looked: list[str] = []
        for name in ("rows", "get"):
            of = getattr(runs, name)

            def noted(session: Session, run_id: str, of: Any = of, name: str = name, **more: Any) -> Any:
                if more.get("files", True):
                    looked.append(name)
                return of(session, run_id, **more)

            monkeypatch.setattr(runs, name, noted)
        await floor.ask("a")
        floor.start()
        await floor.until(lambda: _true(floor.desk.cleared))
    assert looked == ["rows"]


async def _true(value: object) -> bool:
    return bool(value)


async def test_a_threads_runs_go_one_after_the_other_threads_side_by_side(store: Store) -> None:
    """And what an ended run left on the disk is removed, only then."""
    held = Held()
    async with open_floor(store, steps(1)) as floor:
        floor.desk.perform_with = held
        await floor.ask("a", "b")
        await floor.ask("c", number=2)
        floor.start()
        await floor.until(lambda: _true(len(floor.desk.performed) == 2))
        assert floor.workers.held == 2
        assert sorted(floor.desk.performed) == ["1.s1#1", "1.s1#1"]
        assert floor.desk.cleared == []
        held.let_go.set()
        await floor.until(floor.ended)
    assert floor.desk.performed[2] == "2.s1#1"
    assert len(floor.desk.cleared) == 3


async def test_runs_of_a_process_that_dies_later_are_taken_over(store: Store) -> None:
    """Every few seconds somebody looks, and not only at the start."""
    async with open_floor(store, steps(1)) as floor:
        floor.start()
        await floor.until(lambda: _true(floor.desk.swept))
        await floor.ask("a")
        await floor.until(floor.ended)
        assert await store.read(lambda s: leases.orphans(s, floor.queue.owner)) == {}

        def leave_behind(session: Session) -> None:
            run = rows.run(session, 2, guid="b", workflow="main")
            run.state, run.lease_owner = RunState.RUNNING, "dead"
            session.add(run)

        await store.write(leave_behind)
        floor.clock.advance(LOOK)
        await floor.until(floor.ended)
    assert floor.desk.performed == ["1.s1#1", "1.s1#1"]


def taken_over(session: Session) -> None:
    """Another process lives, takes this one for dead, and has what it had."""
    processes.beat(session, "another", host="there", kind="worker")
    leases.recover(session, "another", NOW)
    runs.claim(session, "another", NOW)


async def test_what_is_lost_is_let_go_of(store: Store) -> None:
    """A process that was stopped wakes up: its step is called off, and nothing that it writes for the run counts."""
    held = Held()
    async with open_floor(store) as floor:
        floor.desk.perform_with = held
        await floor.ask("a")
        floor.start()
        await floor.until(lambda: _true(held.met.is_set()))
        await store.write(taken_over)
        floor.clock.advance(LOOK)
        await floor.until(lambda: _true(held.called_off and floor.workers.held == 0))
        assert await floor.states() == [RunState.RUNNING]
        assert await floor.attempts() == [("s1", 1, AttemptState.INTERRUPTED, "interrupted")]
        assert await store.read(lambda s: _numbered(s, 1).lease_owner) == "another"
    assert (floor.desk.said, floor.desk.cleared) == ([], [])


async def test_what_was_done_for_a_lost_run_is_refused(store: Store) -> None:
    """The step ends before anybody here knows that the run is another's: its outcome changes nothing."""
    held = Held()
    async with open_floor(store) as floor:
        floor.desk.perform_with = held
        await floor.ask("a")
        floor.start()
        await floor.until(lambda: _true(held.met.is_set()))
        await store.write(taken_over)
        held.let_go.set()
        await floor.until(lambda: _true(floor.workers.held == 0))
        assert await floor.attempts() == [("s1", 1, AttemptState.INTERRUPTED, "interrupted")]
    assert floor.desk.said == []


async def test_a_lost_run_that_comes_back_begins_with_nobody_at_it(store: Store) -> None:
    """Another worker of the same process claims it while the first is still at the step: one does it at a time."""
    held = Held()
    async with open_floor(store, steps(1)) as floor:
        floor.desk.perform_with = held
        await floor.ask("a")
        floor.start()
        await floor.until(lambda: _true(held.met.is_set()))
        floor.desk.perform_with = floor.desk.done
        await store.write(lambda s: leases.recover(s, "another", NOW))
        await floor.until(floor.ended)
        assert await floor.attempts() == [
            ("s1", 1, AttemptState.INTERRUPTED, "interrupted"),
            ("s1", 2, AttemptState.SUCCESS, ""),
        ]
    assert held.called_off == 1
    assert floor.desk.said == [("r1", End(RunState.SUCCEEDED))]


async def test_a_cancelled_run_stops_at_once(store: Store) -> None:
    """Its step is called off, the attempt and the run are `cancelled`, and the worker takes the next run."""
    held = Held()
    async with open_floor(store, count=1) as floor:
        floor.desk.perform_with = held
        await floor.ask("a", "b")
        floor.start()
        await floor.until(lambda: _true(held.met.is_set()))
        floor.desk.perform_with = floor.desk.done
        await store.write(lambda s: dispatches.cancel(s, _numbered(s, 1), "meg", NOW))
        await floor.until(floor.ended)
        assert await floor.states() == [RunState.CANCELLED, RunState.SUCCEEDED]
        assert (await floor.attempts())[0] == ("s1", 1, AttemptState.CANCELLED, "cancelled")
    assert held.called_off == 1
    assert floor.desk.said[0] == ("r1", End(RunState.CANCELLED, None, "cancelled by meg"))
    assert len(floor.desk.cleared) == 2


def _numbered(session: Session, number: int) -> Run:
    return session.exec(select(Run).where(Run.number == number)).one()


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_run_cancelled_before_its_first_line(store: Store, hangs: bool) -> None:
    """Between claim and start: nothing is performed, and it ends, also where GitHub is just being asked."""
    async with open_floor(store, count=1) as floor:
        if hangs:
            floor.desk.admits.clear()
        await floor.ask("a")
        claim = floor.queue.claim

        async def claim_and_cancel() -> str:
            run_id = await claim()
            await store.write(lambda s: dispatches.cancel(s, s.get_one(Run, run_id), "meg", NOW))
            # who watches has looked before it is listed
            await floor.until(lambda: _true(bell.count and bell.count in waited))
            return run_id

        bell, waited = store.bell("cancel"), list[int]()
        wait = bell.wait

        async def noted(seen: int, timeout: float | None = None) -> None:
            waited.append(seen)
            await wait(seen, timeout)

        bell.wait = noted  # type: ignore[method-assign]
        floor.queue.claim = claim_and_cancel  # type: ignore[method-assign]  # a cancellation in that very moment
        floor.start()
        await floor.until(floor.ended)
        assert (await floor.states(), await floor.attempts()) == ([RunState.CANCELLED], [])
    assert floor.desk.performed == []
    assert floor.desk.said == [("r1", End(RunState.CANCELLED, None, "cancelled by meg"))]


async def test_a_task_that_is_called_off_before_it_runs(store: Store) -> None:
    """The task of the run never reached its first line, so its worker records the end."""
    async with open_floor(store, count=1) as floor:
        await floor.ask("a")

        class CallsOff(dict[str, "asyncio.Task[None]"]):
            """Whoever is listed is called off in the moment between the task and its first line."""

            def __setitem__(self, run_id: str, task: asyncio.Task[None]) -> None:
                super().__setitem__(run_id, task)
                floor.workers._called_off.add(run_id)
                task.cancel()

        floor.workers._held = CallsOff()
        await store.write(lambda s: _ask_to_cancel(s))
        floor.start()
        await floor.until(floor.ended)
        assert (await floor.states(), await floor.attempts()) == ([RunState.CANCELLED], [])
        assert floor.task is not None
        assert not floor.task.done()
    assert len(floor.desk.said) == 1


def _ask_to_cancel(session: Session) -> None:
    run = _numbered(session, 1)
    run.cancelled_by = "meg"
    session.add(run)


async def test_a_stop_hands_back_what_is_held(store: Store) -> None:
    """The attempt is `interrupted` but not counted; the next process goes on with the same step, once."""
    held = Held()
    async with open_floor(store) as floor:
        floor.desk.perform_with = held
        await floor.ask("a")
        floor.start()
        await floor.until(lambda: _true(held.met.is_set()))
        await floor.stop()
        assert await floor.states() == [RunState.QUEUED]
        assert await floor.attempts() == [("s1", 1, AttemptState.INTERRUPTED, "stopped")]
        assert (floor.desk.said, floor.desk.cleared) == ([], [])
    async with open_floor(store) as floor:
        floor.start()
        await floor.until(floor.ended)
        assert floor.desk.performed == ["1.s1#2", "1.s2#1"]


async def test_a_dead_process_run_goes_on(store: Store) -> None:
    """What it ran is interrupted and runs again; what it finished does not; the start sweeps the disk."""
    await store.write(lambda s: rows.run(s, guid="a", workflow="main"))

    def die(session: Session) -> None:
        run_id = runs.claim(session, "dead", NOW)
        assert run_id is not None
        frame = runs.rows(session, run_id).root
        for step, state in (("s1", AttemptState.SUCCESS), ("s2", AttemptState.RUNNING)):
            session.add(
                Attempt(run_id=run_id, frame_id=frame.id, step=step, kind="run", number=1, state=state, started_at=NOW)
            )

    await store.write(die)
    async with open_floor(store) as floor:
        floor.start()
        await floor.until(floor.ended)
        assert floor.desk.performed == ["1.s2#2"]
        assert [a[2:] for a in await floor.attempts()] == [
            (AttemptState.SUCCESS, ""),
            (AttemptState.INTERRUPTED, "interrupted"),
            (AttemptState.SUCCESS, ""),
        ]
    assert floor.desk.swept == 1


async def test_a_fault_of_ours_ends_the_run_and_is_told(store: Store) -> None:
    """With a code and no internals; the worker goes on with the next."""

    async def crash(begun: Begun) -> Outcome:
        raise RuntimeError("secret details")

    async with open_floor(store, count=1) as floor:
        floor.desk.perform_with = crash
        await floor.ask("a")
        floor.start()
        await floor.until(floor.ended)
        floor.desk.perform_with = floor.desk.done
        await floor.ask("b")
        await floor.until(floor.ended)
        assert await floor.states() == [RunState.FAILED, RunState.SUCCEEDED]
        assert (await floor.attempts())[0] == ("s1", 1, AttemptState.FAIL, "internal_error")
    ((number, end), _) = floor.desk.said
    assert (number, end.state) == ("r1", RunState.FAILED)
    assert end.reason == "internal_error: the bot itself failed (RuntimeError)"


async def test_a_bug_in_what_is_said_costs_neither_the_run_nor_the_worker(store: Store) -> None:
    """The run ends in a fixed sentence; the next one is worked on."""
    async with open_floor(store, count=1) as floor:
        floor.desk.say_breaks = True
        await floor.ask("a")
        floor.start()
        await floor.until(floor.ended)
        assert floor.desk.plainly == ["internal_error: the bot itself failed (KeyError)"]
        floor.desk.say_breaks = False
        await floor.ask("b")
        await floor.until(floor.ended)
        assert await floor.states() == [RunState.FAILED, RunState.SUCCEEDED]


FINDING = Finding(".github/bot.yml", 4, 5, "error", "unknown_key", "`modle` is not a key", "did you mean `model`?")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UserError("unknown_workflow", "`x` is not here", "add it"), "unknown_workflow: `x` is not here"),
        (ConfigurationError([FINDING]), "unknown_key: .github/bot.yml:4:5 `modle` is not a key"),
        (NotFound("gone"), "internal_error: the bot itself failed (NotFound)"),
    ],
)
async def test_a_run_whose_terms_cannot_be_had(store: Store, error: Exception, reason: str) -> None:
    """Ends with the reason; nothing is performed."""
    async with open_floor(store) as floor:
        floor.desk.terms_fail = error
        await floor.ask("a")
        floor.start()
        await floor.until(floor.ended)
        assert (await floor.states(), await floor.attempts()) == ([RunState.FAILED], [])
    assert [(number, end.reason) for number, end in floor.desk.said] == [("r1", reason)]


async def test_a_requester_who_may_no_longer(store: Store) -> None:
    """Refused at the start: it ends with the one sentence, nothing is performed."""
    refusal = End(RunState.CANCELLED, None, "The role changed.")
    async with open_floor(store) as floor:
        floor.desk.refuses = [refusal]
        await floor.ask("a")
        floor.start()
        await floor.until(floor.ended)
        assert (await floor.states(), await floor.attempts()) == ([RunState.CANCELLED], [])
    assert floor.desk.said == [("r1", refusal)]


async def test_a_start_that_cannot_be_decided_waits_in_the_queue(store: Store) -> None:
    """No worker sleeps; other threads go on; it starts when GitHub answers again."""
    async with open_floor(store, count=1) as floor:
        floor.desk.refuses = [Transient("GitHub is down", 60)]
        await floor.ask("a")
        await floor.ask("b", number=2)
        floor.start()

        async def other() -> bool:
            return await floor.states() == [RunState.QUEUED, RunState.SUCCEEDED]

        await floor.until(other)
        assert floor.desk.performed == ["1.s1#1", "1.s2#1"]
        await floor.until(lambda: _true(floor.workers.held == 0))
        assert len(floor.desk.cleared) == 1
        floor.clock.advance(60)
        store.bell("queue").ring()
        await floor.until(floor.ended)
        assert len(floor.desk.performed) == 4


async def test_a_database_that_refuses_costs_no_outcome_and_no_worker(store: Store) -> None:
    """What a step led to is kept until it can be written; the step does not run again."""
    held = Held()
    async with open_floor(store, count=1) as floor:
        floor.desk.perform_with = held
        await floor.ask("a")
        floor.start()
        await floor.until(lambda: _true(held.met.is_set()))
        async with locked(store):
            held.let_go.set()
            for wait in (1.0, 2.0, 4.0):
                await floor.until(lambda wait=wait: _true(wait in floor.clock.slept))  # type: ignore[misc]
                floor.clock.advance(wait)
        floor.clock.advance(60)
        await floor.until(floor.ended)
        assert floor.desk.performed == ["1.s1#1", "1.s2#1"]
        assert await floor.states() == [RunState.SUCCEEDED]
        await floor.ask("b")
        await floor.until(floor.ended)


async def test_the_desk_is_told_whenever_a_run_has_gone_on(store: Store) -> None:
    """Once an outcome, before what follows begins."""
    async with open_floor(store, steps(2)) as floor:
        seen: list[int] = []

        async def perform(begun: Begun) -> Outcome:
            seen.append(len(floor.desk.noted_runs))
            return Done()

        floor.desk.perform_with = perform
        await floor.ask("a")
        floor.start()
        await floor.until(lambda: _true(floor.desk.cleared))
        assert seen == [0, 1]
        assert floor.desk.noted_runs == floor.desk.cleared * 2


async def test_a_run_under_way_is_looked_at_once_a_ring(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may go on beside a step that takes long: an answer rings for it, as often as one comes."""
    looks: list[str] = []
    advance = commit.advance

    def noted(session: Session, run_id: str, *more: Any) -> Advance:
        looks.append(run_id)
        return advance(session, run_id, *more)

    monkeypatch.setattr(commit, "advance", noted)
    async with open_floor(store, steps(1)) as floor:
        held = Held()
        floor.desk.perform_with = held
        await floor.ask("a")
        floor.start()
        await held.met.wait()
        while len(looks) < 4:
            before = len(looks)
            store.bell("answers").ring()
            await floor.until(partial(_more, looks, before))
        await floor.until(lambda: _true(len(floor.desk.noted_runs) == 3))
        held.let_go.set()
        await floor.until(floor.ended)
    assert len(looks) == 4
    assert len(floor.desk.noted_runs) == 4


@pytest.mark.parametrize("left", [{"more": True}, {"wake": NOW}])
async def test_what_is_known_later_is_not_forgotten_for_what_was_known_before(
    store: Store, monkeypatch: pytest.MonkeyPatch, left: dict[str, Any]
) -> None:
    """A step ends in the commit of a look that leaves something to do, and before it: the look is heard of first."""
    looks: list[str] = []
    advance = commit.advance

    def noted(session: Session, run_id: str, *more: Any) -> Advance:
        looks.append(run_id)
        found = advance(session, run_id, *more)
        return replace(found, **left) if len(looks) == 2 else found

    monkeypatch.setattr(commit, "advance", noted)
    async with open_floor(store, steps(2), count=1) as floor:
        first, second = Held(), Held()
        floor.desk.perform_with = lambda begun: (first if begun.step.id == "s1" else second)(begun)
        await floor.ask("a")
        floor.start()
        await first.met.wait()
        held, free = threading.Event(), threading.Event()

        def holds(_: Session) -> None:
            held.set()
            free.wait(20)

        others = asyncio.create_task(store.write(holds))
        await floor.until(lambda: _true(held.is_set()))
        first.let_go.set()
        await floor.until(lambda: _true(store._works.qsize() == 1))
        store.bell("answers").ring()
        await floor.until(lambda: _true(store._works.qsize() == 2))
        free.set()
        await others
        await second.met.wait()
        await floor.until(partial(_more, looks, 2))
        second.let_go.set()
        await floor.until(floor.ended)
        assert await floor.states() == [RunState.SUCCEEDED]


async def _more(found: list[str], than: int) -> bool:
    return len(found) > than


def test_of_several_ends_the_earliest_wakes() -> None:
    """Their order is not that of their commits: one that waits for nothing must not hide another's time."""
    soon, late = NOW + timedelta(seconds=2), NOW + timedelta(hours=1)
    assert Advance.together([Advance((), soon), Advance((), late), Advance()]).wake == soon
    assert Advance.together([Advance(), Advance()]).wake is None


async def test_much_that_needs_nobodys_work_lets_others_write(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes in several transactions, and a cancellation between them holds."""
    monkeypatch.setattr("bot.engine.worker.HOLD", 0.0)
    inner = "[{id: one, switch: [{to: two}]}, {id: two, end: {}}]"
    text = workflow_of(f"- {{id: all, each: {{over: [a, b, c]}}, steps: {inner}}}")
    floor = Floor(store, ScriptedDesk(text))
    await store.write(lambda s: rows.run(s, guid="g", workflow="main", files={".github/bot.yml": text}, comment_id=501))
    before = store.commits
    floor.start()
    try:
        await floor.until(floor.ended)
        assert await floor.states() == [RunState.SUCCEEDED]
        assert store.commits - before > 7
    finally:
        await floor.stop()
