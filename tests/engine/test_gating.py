"""Gates of a run as rows: bound to a head, void and asked again, reminded of, and kept where GitHub does not answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.engine import commit
from bot.engine.commit import Begun, Performed, Terms
from bot.model.outcome import Done, Faulted
from bot.model.patience import PATIENCE
from bot.model.state import AttemptState, GateState
from bot.store import Session, Store, gates, leases, runs
from bot.store.runs import RunRows
from bot.store.tables import Gate
from bot.workflows.answers import taken
from tests.engine.play import open_gate, workflow_of
from tests.engine.scene import Case, open_case
from tests.rows import NOW

STEPS = "- {id: ok, ask: Merge?, timeout: 2d}\n- {id: after, run: echo}"


class Bound:
    """A run on a pull request, whose heads a test tells."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.now = NOW
        self.asked: list[str] = []
        self.reminded: list[str] = []

        def ask(session: Session, rows: RunRows, gate: Gate) -> None:
            self.asked.append(f"{gate.asked} {gate.state} {gate.head_sha}")

        def remind(session: Session, rows: RunRows, gate: Gate) -> None:
            self.reminded.append(gate.question)

        self.terms: Terms = replace(case.terms, ask=ask, remind=remind, heads=True)

    async def go(self) -> tuple[Begun, ...]:
        """Advance, after a claim where the run waited or was queued."""
        store, run_id = self.case.store, self.case.run_id
        if (await self.case.run()).lease_owner is None:
            assert await store.write(lambda s: runs.claim(s, "me", self.now)) == run_id
        return (await store.write(lambda s: commit.advance(s, run_id, self.terms, self.now))).begun

    async def look(self, begun: Begun, head: str | None, outcome: Any = None) -> tuple[Begun, ...]:
        """The head was read."""
        performed = Performed(outcome or Done(), head=head)
        recorded = await self.case.store.write(lambda s: commit.record(s, begun, performed, self.terms, self.now))
        return recorded.begun

    async def answer(self, label: str = "approve") -> None:
        def work(session: Session) -> None:
            gate = session.get_one(Gate, open_gate(runs.rows(session, self.case.run_id)).id)
            kept = {**taken(gate.options, {"answer": label}), "by": "meg", "at": self.now.isoformat()}
            gates.settle(session, gate, kept)

        await self.case.store.write(work)

    async def gate(self) -> Gate:
        (gate,) = (await self.case.rows()).gates
        return gate


async def bound(store: Store, steps: str = STEPS) -> Bound:
    """It has asked, bound to the head `a`."""
    case = await open_case(store, workflow_of(steps))

    def on_pull(session: Session) -> None:
        thread = runs.rows(session, case.run_id).thread
        thread.is_pull_request = True
        session.add(thread)

    await store.write(on_pull)
    here = Bound(case)
    (begun,) = await here.go()
    assert (begun.step.id, begun.gate) == ("ok", None)
    assert await here.look(begun, "a") == ()
    return here


async def test_asked_about_the_head(store: Store) -> None:
    """Somebody reads it before it is asked; nobody holds the run afterwards."""
    here = await bound(store)
    assert here.asked == ["1 open a"]
    assert (await here.case.run()).lease_owner is None
    assert (await here.gate()).head_sha == "a"


async def test_the_head_is_the_same(store: Store) -> None:
    """It is read again when the run goes on, and the answer counts."""
    here = await bound(store)
    await here.answer()
    (begun,) = await here.go()
    assert begun.gate is not None
    (after,) = await here.look(begun, "a")
    assert after.step.id == "after"


async def test_the_head_has_moved(store: Store) -> None:
    """Void: the old comment says so, a new one asks about the new head, as long as the first time."""
    here = await bound(store)
    here.now += timedelta(hours=30)
    await here.answer()
    (begun,) = await here.go()
    assert await here.look(begun, "b") == ()
    assert here.asked == ["1 open a", "1 answered a", "1 void a", "2 open b"]
    gate = await here.gate()
    assert gate.note == "the head moved from a to b after `meg` had answered"
    assert (gate.answer, gate.deadline) == (None, here.now + timedelta(days=2))
    assert gate.remind_at == here.now + timedelta(days=1)
    attempt = (await here.case.rows()).attempts[-1]
    assert (attempt.state, attempt.number) == (AttemptState.WAITING, 1)


async def test_three_times_at_most(store: Store) -> None:
    """Then the step has failed, with why."""
    here = await bound(store)
    for head in "bcd":
        await here.answer()
        (begun,) = await here.go()
        await here.look(begun, head)
    attempt = (await here.case.rows()).attempts[-1]
    assert (attempt.state, attempt.error["code"]) == (AttemptState.FAIL, "gate_void")
    assert "from c to d" in attempt.error["message"]
    assert (await here.gate()).state is GateState.VOID


async def test_void_by_its_text(store: Store) -> None:
    """The head is read again too, so that the new question is about it."""
    here = await bound(store)

    def void(session: Session) -> None:
        gates.void(session, session.get_one(Gate, open_gate(runs.rows(session, here.case.run_id)).id), "changed")

    await here.case.store.write(void)
    (begun,) = await here.go()
    await here.look(begun, "b")
    assert here.asked[-1] == "2 open b"


async def test_a_no_is_not_bound(store: Store) -> None:
    """Nobody reads the head for it."""
    here = await bound(store)
    await here.answer("reject")
    assert await here.go() == ()
    assert (await here.case.rows()).attempts[-1].error["code"] == "rejected"


async def test_github_does_not_tell(store: Store) -> None:
    """The answer is kept, and the head read again later; nobody holds the run meanwhile."""
    here = await bound(store)
    await here.answer()
    (begun,) = await here.go()
    assert await here.look(begun, None, Faulted("502", 40.0)) == ()
    run = await here.case.run()
    assert (run.lease_owner, run.not_before) == (None, here.now + timedelta(seconds=40))
    here.now += timedelta(seconds=40)
    (begun,) = await here.go()
    (after,) = await here.look(begun, "a")
    assert after.step.id == "after"


async def test_github_never_tells(store: Store) -> None:
    """15 minutes after the first try the step has failed."""
    here = await bound(store)
    await here.answer()
    (begun,) = await here.go()
    await here.look(begun, None, Faulted("502"))
    here.now += PATIENCE
    (begun,) = await here.go()
    await here.look(begun, None, Faulted("502"))
    assert (await here.case.rows()).attempts[-1].error["code"] == "github_unavailable"


async def test_a_time_that_github_names_is_no_silence(store: Store) -> None:
    """A limit of an hour, and then faults: the 15 minutes begin behind it."""
    here = await bound(store)
    await here.answer()
    (begun,) = await here.go()
    await here.look(begun, None, Faulted("429", 3_600.0))
    here.now += timedelta(hours=1) + PATIENCE - timedelta(seconds=1)
    (begun,) = await here.go()
    await here.look(begun, None, Faulted("502"))
    here.now += timedelta(minutes=1)
    (begun,) = await here.go()
    (after,) = await here.look(begun, "a")
    assert after.step.id == "after"


@pytest.mark.parametrize("stopped", [True, False])
async def test_whoever_reads_the_head_dies(store: Store, stopped: bool) -> None:
    """The answer stands: it waits again, and goes on with the same attempt."""
    here = await bound(store)
    await here.answer()
    await here.go()

    def die(session: Session) -> None:
        if stopped:
            commit.abandon(session, here.case.run_id, here.terms.say, here.now, cancelled=False)
        else:
            leases.recover(session, "another", here.now)

    await store.write(die)
    (begun,) = await here.go()
    assert begun.gate is not None
    (after,) = await here.look(begun, "a")
    assert after.step.id == "after"
    assert [(one.step, one.number) for one in (await here.case.rows()).attempts] == [("ok", 1), ("after", 1)]


async def test_reminded_once(store: Store) -> None:
    """At half time; a second look says nothing more, and the deadline is what it waits for then."""
    here = await bound(store)
    gate = await here.gate()
    assert (await here.case.run()).not_before == gate.remind_at == NOW + timedelta(days=1)
    here.now += timedelta(days=1)
    assert await here.go() == ()
    assert here.reminded == ["Merge?"]
    assert (await here.case.run()).not_before == gate.deadline
    here.now += timedelta(days=1)
    await here.go()
    assert here.reminded == ["Merge?"]


async def test_who_may_answer_where_nobody_is_named(store: Store) -> None:
    """Those who may command, or run this workflow where that takes more."""
    here = await bound(store)
    assert (await here.gate()).who["role"] == "write"
