"""What was sent and got no answer: looked for, confirmed by what comes back, and only then sent again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import update
from sqlmodel import Session, and_, col, or_, select

from bot.model.state import OutboxState, follow
from bot.store import posts, processes
from bot.store.database import ring
from bot.store.due import due, moment
from bot.store.outbox import Saying, of_slot
from bot.store.prepared import Prepared
from bot.store.suspects import INTERRUPTIONS
from bot.store.tables import Outbox, Thread

#: made once: they are asked whenever something is to be sent
_IS_DUE = (Outbox.state == OutboxState.UNSURE, due(col(Outbox.not_before)))
_ANY_DUE = Prepared(select(Outbox.id).where(*_IS_DUE).limit(1))
_DUE = (
    select(Outbox, Thread)
    .join(Thread, col(Thread.id) == col(Outbox.thread_id))
    .where(*_IS_DUE)
    .order_by(col(Outbox.id))
)


def unsure(session: Session, row_id: str, look_at: datetime, reason: str) -> None:
    """It was sent and no answer came: look for it at `look_at`."""
    row = session.get_one(Outbox, row_id)
    row.state = follow(row.state, OutboxState.UNSURE)
    row.not_before, row.reason = look_at, reason
    row.lease_owner = None
    session.add(row)
    ring(session, "outbox")


def begin(session: Session, row_id: str, owner: str) -> Saying | None:
    """`owner` looks for it now, which is noted as sending is: should the process end, it is known over what.

    None where it is not unsure any more, or was forgotten with its repository.
    """
    row = session.get(Outbox, row_id)
    if row is None or row.state is not OutboxState.UNSURE:
        return None
    row.lease_owner = owner
    session.add(row)
    return Saying(row, session.get_one(Thread, row.thread_id))


def due_unsure(session: Session, now: datetime) -> list[Saying]:
    """Rows whose time to be looked for has come."""
    # there is hardly ever one, and asking the ORM takes many times as long
    if _ANY_DUE.first(session, moment(now)) is None:
        return []
    found = session.exec(_DUE, params=moment(now)).all()
    return [Saying(row, thread) for row, thread in found]


def look_again(session: Session, row_id: str, at: datetime) -> None:
    """It was not found yet: look again at `at`."""
    session.execute(update(Outbox).where(col(Outbox.id) == row_id).values(not_before=at, lease_owner=None))
    ring(session, "outbox")


def confirm(
    session: Session, slot: str, posted_id: int, url: str, now: datetime, *, gone: int | None = None
) -> int | None:
    """Our own comment came back with this slot. Returns the id of another comment that fills the slot already.

    `gone` is a comment that was taken back since: it fills nothing any more. A review that comes back is looked for at
    once where there is doubt: its outcome holds more than the delivery says.
    """
    row = of_slot(session, slot)
    if row is None:
        return None
    if row.action != "comment":
        if row.state is OutboxState.UNSURE:
            look_again(session, row.id, now)
        return None
    if row.posted_id not in (None, posted_id, gone):
        return row.posted_id
    if row.state is OutboxState.UNSURE:
        row.state = follow(row.state, OutboxState.POSTED)
        row.not_before = None
        row.outcome = {"id": posted_id, "url": url}
    row.posted_id, row.url = posted_id, url
    row.posted_at = row.posted_at or now
    session.add(row)
    ring(session, "outbox")
    ring(session, "posted")
    posts.settled(session, row)
    return None


@dataclass(frozen=True, slots=True)
class Left:
    """What dead processes had under way: rows that are to go alone next, and those that no process is to send again."""

    suspects: tuple[str, ...] = ()
    aside: tuple[Saying, ...] = ()


def orphans(session: Session, owner: str) -> dict[str | None, list[str]]:
    """Rows that were sent, or looked for, by processes which are dead, by process; `owner` asks, and lives."""
    nobody = and_(Outbox.state == OutboxState.SENDING, col(Outbox.lease_owner).is_(None))
    states = [OutboxState.SENDING, OutboxState.UNSURE]
    found = session.exec(
        select(Outbox.id, Outbox.lease_owner)
        .where(or_(nobody, and_(col(Outbox.state).in_(states), col(Outbox.lease_owner) != owner)))
        .order_by(col(Outbox.id))
    ).all()
    living = processes.living(session, owner) if found else set()
    left: dict[str | None, list[str]] = {}
    for row_id, sender in found:
        if sender not in living:
            left.setdefault(sender, []).append(row_id)
    return left


def recover(session: Session, owner: str, look_at: datetime) -> Left:
    """What dead processes were sending is unsure.

    The end of a process that had one row under way counts against that row; of several nobody knows, so that they go
    one at a time from now on. After `INTERRUPTIONS` a row is set aside.
    """
    suspects: list[str] = []
    aside: list[Saying] = []
    for ids in orphans(session, owner).values():
        for row_id in ids:
            row = session.get_one(Outbox, row_id)
            row.interruptions += len(ids) == 1
            if row.state is OutboxState.SENDING:
                unsure(session, row_id, look_at, "the process that sent it ended")
            else:
                look_again(session, row_id, look_at)
            if row.interruptions >= INTERRUPTIONS:
                aside.append(Saying(row, session.get_one(Thread, row.thread_id)))
            else:
                suspects.append(row_id)
    return Left(tuple(suspects), tuple(aside))


def leave(session: Session, owner: str, look_at: datetime) -> None:
    """`owner` stops sending: what it has under way is unsure, for whoever sends next."""
    for row in session.exec(select(Outbox).where(Outbox.state == OutboxState.SENDING, Outbox.lease_owner == owner)):
        unsure(session, row.id, look_at, "the process that sent it stopped")


def sends(session: Session, row_id: str, owner: str, tries: int) -> bool:
    """Whether `owner` is still the one that sends a row, in that try."""
    row = session.get(Outbox, row_id)
    return row is not None and row.state is OutboxState.SENDING and (row.lease_owner, row.tries) == (owner, tries)
