"""Who asked for a run, and what a thread's gates are called."""

from __future__ import annotations

from datetime import timedelta

from bot.model.slot import Slot
from bot.model.state import AttemptState, GateState
from bot.store import Session, Store, gates, outbox, runs
from bot.store.gates import Asked
from bot.store.tables import Attempt, Gate, Run
from tests import rows

from .conftest import NOW


def asked(session: Session, run: Run, step: str = "ok") -> Asked:
    """An open gate of a run."""
    root = runs.rows(session, run.id).root
    attempt = Attempt(
        run_id=run.id, frame_id=root.id, step=step, kind="ask", number=1, state=AttemptState.WAITING, started_at=NOW
    )
    session.add(attempt)
    session.flush()
    gate = Gate(run_id=run.id, attempt_id=attempt.id, question="Fine?", digest="0" * 64)
    session.add(gate)
    session.flush()
    found = gates.get(session, gate.id)
    assert found is not None
    return found


def by(session: Session, run: Run, actor_id: int) -> Run:
    """The run as if somebody else had asked for it."""
    dispatch = runs.rows(session, run.id).dispatch
    dispatch.actor_id = actor_id
    session.add(dispatch)
    session.flush()
    return run


async def test_whoever_asked(store: Store) -> None:
    """For the run, for the one that it repeats, and for the one that started it, however long the chain."""

    def work(session: Session) -> frozenset[int]:
        root = by(session, rows.run(session, guid="a"), 1)
        thread = rows.thread(session)
        row = outbox.ensure(
            session,
            Slot(f"run/{root.id}", "dispatch"),
            thread_id=thread.id,
            action="dispatch",
            purpose="action",
            body="{}",
            now=NOW,
            run_id=root.id,
        )
        child = by(session, rows.run(session, guid="b"), 2)
        # what a run has started has the id of the row that had it started
        dispatch = runs.rows(session, child.id).dispatch
        made = type(dispatch).model_validate({**dispatch.model_dump(), "id": row.id, "ordinal": 9, "sequence": 99})
        session.add(made)
        session.flush()
        child.dispatch_id = row.id
        again = by(session, rows.run(session, guid="c"), 3)
        again.retry_of = child.id
        session.add_all([child, again])
        session.flush()
        return gates.requesters(session, asked(session, again))

    assert await store.write(work) == {1, 2, 3}


async def test_what_people_call_them(store: Store) -> None:
    """By run and step, case aside, open or not; the newest of a name."""

    def work(session: Session) -> None:
        run = rows.run(session, guid="a")
        thread = rows.thread(session)
        found = asked(session, run, "plan_a")
        assert found.name == "r1.plan_a"
        assert [one.name for one in gates.open_in(session, thread.id)] == ["r1.plan_a"]
        assert gates.asked_since(session, thread.id, NOW)
        gates.settle(session, found.gate, {"answer": "approve"})
        assert gates.open_in(session, thread.id) == []
        assert not gates.asked_since(session, thread.id, NOW + timedelta(days=365))
        assert not gates.asked_since(session, rows.thread(session, 7).id, NOW)
        for name in ("r1.plan_a", "r1.Plan_A"):
            called = gates.called(session, thread.id, name)
            assert called is not None
            assert called.gate.state is GateState.ANSWERED
        for name in ("r1.planxa", "r2.plan_a", "r2", "x"):
            assert gates.called(session, thread.id, name) is None

    await store.write(work)
