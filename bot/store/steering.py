"""What people told runs that are under way: who has heard it, and what nobody heard."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from bot.store.tables import Attempt, Steer

#: made once: it is asked at the end of every run
_LATE = select(Steer).where(Steer.run_id == bindparam("run"), col(Steer.attempt_id).is_(None)).order_by(col(Steer.id))


def unheard(session: Session, attempt_id: str, known: Collection[str]) -> Sequence[Steer]:
    """What an attempt has not heard, oldest first; `known` are the ids that its conversation holds already.

    It hears what nobody has read, what was said while it was at work (another agent may have read it first), and what
    its step was told before: a conversation that begins anew, after a crash say, knows nothing of the one before.
    """
    attempt = session.get_one(Attempt, attempt_id)
    found = session.exec(select(Steer).where(Steer.run_id == attempt.run_id).order_by(col(Steer.id))).all()
    fresh = [one for one in found if one.id not in known]
    readers = {one.attempt_id for one in fresh if one.attempt_id is not None}
    own = set(
        session.exec(select(Attempt.id).where(col(Attempt.id).in_(readers), Attempt.step == attempt.step))
        if readers
        else ()
    )
    return [one for one in fresh if one.attempt_id is None or one.attempt_id in own or one.at >= attempt.started_at]


def heard(session: Session, attempt_id: str, ids: Collection[str], now: datetime) -> None:
    """Record that an attempt reads these now."""
    for one in session.exec(select(Steer).where(col(Steer.id).in_(ids))):
        one.attempt_id, one.read_at = attempt_id, now
        session.add(one)


def late(session: Session, run_id: str) -> Sequence[Steer]:
    """What nobody has read of what a run was told, oldest first."""
    return session.exec(_LATE, params={"run": run_id}).all()
