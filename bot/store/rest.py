"""Whether there is anything left to do."""

from __future__ import annotations

from sqlmodel import Session, col, func, select

from bot.model.state import DeliveryState, RunState
from bot.store import posts
from bot.store.tables import Delivery, Outbox, Run


def unfinished(session: Session) -> int:
    """How many deliveries nobody looked at, runs that are to go on by themselves, and things not yet said; 0: at rest.

    A run that waits for a person is at rest.
    """
    counts = (
        select(func.count(col(Delivery.id))).where(Delivery.state == DeliveryState.NEW),
        select(func.count(col(Run.id))).where(col(Run.state).in_([RunState.QUEUED, RunState.RUNNING])),
        select(func.count(col(Outbox.id))).where(col(Outbox.state).in_(posts.OPEN)),
    )
    return sum(session.exec(count).one() for count in counts)
