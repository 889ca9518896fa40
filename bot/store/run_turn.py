"""Whose turn it is among the runs of a thread, and since when: for the claim, the metrics and what is stuck."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from sqlalchemy import ColumnElement
from sqlalchemy.orm import aliased
from sqlmodel import Session, and_, col, exists, func, not_, or_, select

from bot.model.state import GateState, RunState
from bot.store.due import due
from bot.store.objects import Question
from bot.store.tables import Attempt, Gate, Outbox, Run

#: earlier runs of the thread that are looked at for the last to end
_BEFORE = 20


def has_turn() -> ColumnElement[bool]:
    """Whether a queued run is the next of its thread: none runs, and none goes ahead.

    A thread's runs go one at a time: first those that go on (`front`), then by dispatch sequence.
    """
    other = aliased(Run)
    ahead = or_(
        col(other.front) > col(Run.front),
        and_(
            col(other.front) == col(Run.front),
            or_(
                col(other.sequence) < col(Run.sequence),
                and_(col(other.sequence) == col(Run.sequence), col(other.number) < col(Run.number)),
            ),
        ),
    )
    holds = and_(
        col(other.thread_id) == col(Run.thread_id),
        or_(col(other.state) == RunState.RUNNING, and_(col(other.state) == RunState.QUEUED, ahead)),
    )
    return and_(col(Run.state) == RunState.QUEUED, not_(exists(select(other.id).where(holds))))


@cache
def in_turn(most: int) -> Question:
    """Runs whose turn it is at a `moment`, in the order they were queued. Made once: that takes longer than asking."""
    return Question(
        Run,
        which=lambda these: (
            these.where(has_turn(), due(col(Run.not_before))).order_by(col(Run.queued_at), col(Run.id)).limit(most)
        ),
    )


def turn_since(session: Session, run: Run) -> datetime:
    """Since when it has been the turn of a run that has it.

    It was queued then, put off until then, or the last run before it ended; one that goes on came back when the last
    happened in it: an attempt, an answer, the end of a question's time, a post.
    """
    before = select(Run.ended_at).where(Run.thread_id == run.thread_id, col(Run.ended_at).is_not(None))
    times = [run.queued_at, run.not_before, *session.exec(before.order_by(col(Run.number).desc()).limit(_BEFORE))]
    if run.front:
        begun, ended = func.max(Attempt.started_at), func.max(Attempt.ended_at)
        times += session.exec(select(begun, ended).where(Attempt.run_id == run.id)).one()
        times += [session.exec(select(func.max(Outbox.posted_at)).where(Outbox.run_id == run.id)).one()]
        for gate in session.exec(select(Gate).where(Gate.run_id == run.id)):
            at = (gate.answer or {}).get("at")
            times += [datetime.fromisoformat(at)] if isinstance(at, str) else []
            times += [gate.deadline] if gate.state is not GateState.OPEN else []
    known: list[datetime] = [time for time in times if time is not None]
    return max(known)
