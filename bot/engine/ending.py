"""The end of a run as rows, whatever brought it about."""

from __future__ import annotations

from datetime import datetime

from bot.engine.graph import End
from bot.engine.terms import Say
from bot.model.state import AttemptState, DispatchState, GateState, RunState, follow
from bot.store import Session
from bot.store.database import ring
from bot.store.runs import RunRows
from bot.store.tables import Dispatch


def finish(session: Session, rows: RunRows, end: End, say: Say, now: datetime) -> None:
    """End a run: its state, its dispatch's, what still waited in it, and what is said about it."""
    run = rows.run
    run.state = follow(run.state, end.state)
    run.reason, run.ended_at = end.reason, now
    run.lease_owner = run.lease_until = None
    for attempt in rows.attempts:
        if attempt.state is AttemptState.WAITING:
            attempt.state = follow(attempt.state, AttemptState.CANCELLED)
            attempt.ended_at = now
            session.add(attempt)
    for gate in rows.gates:
        if gate.state is GateState.OPEN:
            gate.state = follow(gate.state, GateState.CANCELLED)
            session.add(gate)
    dispatch = session.get_one(Dispatch, run.dispatch_id)
    if dispatch.state is DispatchState.QUEUED:
        dispatch.state = follow(dispatch.state, DispatchState.STARTED)
    ends = {RunState.CANCELLED: DispatchState.CANCELLED, RunState.SET_ASIDE: DispatchState.SET_ASIDE}
    dispatch.state = follow(dispatch.state, ends.get(end.state, DispatchState.DONE))
    dispatch.reason = end.reason
    session.add_all([run, dispatch])
    session.flush()
    say(session, rows, end)
    ring(session, "queue")
