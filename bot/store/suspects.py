"""Deliveries that a process looked at when it ended: one of them may be what ended it.

Nothing is noted while all goes well. Whoever begins to look after a process that left deliveries unsettled notes each
before it looks at it, so that a further end tells which it was: one that was looked at alone counts, and of several
nobody knows, so that they are looked at one at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import update
from sqlmodel import Session, col, func, select

from bot.model.state import DeliveryState
from bot.store import deliveries
from bot.store.due import due as due_at
from bot.store.due import moment
from bot.store.tables import Delivery

#: ends of processes over one delivery, or over one post, after which it is set aside
INTERRUPTIONS = 3
#: as many after which not even its thread is told any more
SILENT = INTERRUPTIONS + 7
#: deliveries that are looked at one at a time from the first
FEW = 64


@dataclass(frozen=True, slots=True)
class Left:
    """What the process before left: suspects, what is to be set aside, and the newest of all that it left, if any."""

    suspects: tuple[str, ...]
    aside: tuple[Delivery, ...]
    newest: str


def left(session: Session, reason: str) -> Left:
    """Once before anything is looked at.

    What is to be set aside is open until its thread is told so, that no end of a process comes between; where telling
    ends processes too, it is settled with `reason`.
    """
    new = select(Delivery).where(Delivery.state == DeliveryState.NEW).order_by(col(Delivery.id))
    marked = session.exec(new.where(col(Delivery.looked_by).is_not(None))).all()
    if len(marked) == 1:
        marked[0].interruptions += 1
    for one in marked:
        one.looked_by = None
        session.add(one)
    session.flush()
    ended = session.exec(new.where(col(Delivery.interruptions) >= INTERRUPTIONS)).all()
    for one in ended:
        if one.interruptions >= SILENT:
            deliveries.settle(session, one.id, DeliveryState.FAILED, reason)
    aside = tuple(one for one in ended if one.interruptions < SILENT)
    ids = session.exec(
        select(Delivery.id)
        .where(Delivery.state == DeliveryState.NEW, col(Delivery.interruptions) < INTERRUPTIONS)
        .order_by(col(Delivery.id))
        .limit(FEW + 1)
    ).all()
    known = [one.id for one in marked if one not in ended]
    suspects = known or (list(ids) if len(ids) <= FEW else [])
    newest = session.exec(select(func.max(Delivery.id)).where(Delivery.state == DeliveryState.NEW)).one()
    return Left(tuple(suspects), aside, newest or "")


def mark(session: Session, ids: Collection[str], name: str) -> None:
    """`name` looks at these now."""
    session.execute(update(Delivery).where(col(Delivery.id).in_(ids)).values(looked_by=name))


def unmark(session: Session, name: str) -> None:
    """`name` stops, and what it looked at has ended nothing."""
    session.execute(update(Delivery).where(col(Delivery.looked_by) == name).values(looked_by=None))


def due(session: Session, ids: Sequence[str], now: datetime) -> list[Delivery]:
    """Those of the deliveries that are open, and due."""
    which = (col(Delivery.id).in_(ids), Delivery.state == DeliveryState.NEW, due_at(col(Delivery.not_before)))
    return list(session.exec(select(Delivery).where(*which).order_by(col(Delivery.id)), params=moment(now)))
