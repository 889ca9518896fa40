"""The end of a run as rows, whatever brought it about."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from bot.engine.graph import End
from bot.engine.terms import Say
from bot.model.state import AttemptState, DispatchState, GateState, RunState, follow
from bot.store import Session, clones, objects
from bot.store.database import ring
from bot.store.runs import RunRows
from bot.store.tables import Dispatch, Gate


def finish(session: Session, rows: RunRows, end: End, say: Say, now: datetime) -> None:
    """End a run: its state, its dispatch's, what still waited in it, and what is said about it."""
    run = rows.run
    clones.forget(session, run.id)
    run.state = follow(run.state, end.state)
    run.reason, run.ended_at = end.reason, now
    run.lease_owner = None
    withdraw(session, rows, now)
    dispatch = objects.get_one(session, Dispatch, run.dispatch_id)
    if dispatch.state is DispatchState.QUEUED:
        dispatch.state = follow(dispatch.state, DispatchState.STARTED)
    ends = {RunState.CANCELLED: DispatchState.CANCELLED, RunState.SET_ASIDE: DispatchState.SET_ASIDE}
    dispatch.state = follow(dispatch.state, ends.get(end.state, DispatchState.DONE))
    dispatch.reason = end.reason
    objects.save(session, run)
    objects.save(session, dispatch)
    session.flush()
    say(session, rows, end)
    ring(session, "queue")


def withdraw(session: Session, rows: RunRows, now: datetime, frames: Collection[str] | None = None) -> list[Gate]:
    """Nobody waits any more: not in the whole run, or not in these frames. The gates that were open."""
    open_gates: list[Gate] = []
    for attempt in rows.attempts:
        if attempt.state is not AttemptState.WAITING or (frames is not None and attempt.frame_id not in frames):
            continue
        attempt.state = follow(attempt.state, AttemptState.CANCELLED)
        attempt.ended_at = now
        session.add(attempt)
        open_gates.extend(one for one in rows.gates if one.attempt_id == attempt.id and one.state is GateState.OPEN)
    for gate in open_gates:
        gate.state = follow(gate.state, GateState.CANCELLED)
        session.add(gate)
    return open_gates
