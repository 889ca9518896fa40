"""What was sent and got no answer: looked for, confirmed by what comes back, and only then sent again."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import update
from sqlmodel import Session, col, or_, select

from bot.model.state import OutboxState, follow
from bot.store import posts, processes
from bot.store.database import ring
from bot.store.due import due
from bot.store.outbox import Saying
from bot.store.tables import Outbox, Thread


def unsure(session: Session, row_id: str, look_at: datetime, reason: str) -> None:
    """It was sent and no answer came: look for it at `look_at`."""
    row = session.get_one(Outbox, row_id)
    row.state = follow(row.state, OutboxState.UNSURE)
    row.not_before, row.reason = look_at, reason
    session.add(row)
    ring(session, "outbox")


def due_unsure(session: Session, now: datetime) -> list[Saying]:
    """Rows whose time to be looked for has come."""
    found = session.exec(
        select(Outbox, Thread)
        .join(Thread, col(Thread.id) == col(Outbox.thread_id))
        .where(Outbox.state == OutboxState.UNSURE, due(col(Outbox.not_before), now))
        .order_by(col(Outbox.id))
    ).all()
    return [Saying(row, thread) for row, thread in found]


def look_again(session: Session, row_id: str, at: datetime) -> None:
    """It was not found yet: look again at `at`."""
    session.execute(update(Outbox).where(col(Outbox.id) == row_id).values(not_before=at))
    ring(session, "outbox")


def confirm(
    session: Session, slot: str, posted_id: int, url: str, now: datetime, *, gone: int | None = None
) -> int | None:
    """Our own comment came back with this slot. Returns the id of another comment that fills the slot already.

    `gone` is a comment that was taken back since: it fills nothing any more. A review that comes back is looked for at
    once where there is doubt: its outcome holds more than the delivery says.
    """
    row = session.exec(select(Outbox).where(Outbox.slot == slot)).first()
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


def orphans(session: Session, owner: str) -> list[str]:
    """Rows that were being sent by processes which are dead; `owner` is the one who asks, and lives."""
    found = session.exec(
        select(Outbox.id, Outbox.lease_owner).where(
            Outbox.state == OutboxState.SENDING, or_(col(Outbox.lease_owner).is_(None), Outbox.lease_owner != owner)
        )
    ).all()
    living = processes.living(session) if found else set()
    return [row_id for row_id, sender in found if sender not in living]


def recover(session: Session, owner: str, look_at: datetime) -> int:
    """What dead processes were sending is unsure; how much that was."""
    found = orphans(session, owner)
    for row_id in found:
        unsure(session, row_id, look_at, "the process that sent it ended")
    return len(found)


def leave(session: Session, owner: str, look_at: datetime) -> None:
    """`owner` stops sending: what it has under way is unsure, for whoever sends next."""
    for row in session.exec(select(Outbox).where(Outbox.state == OutboxState.SENDING, Outbox.lease_owner == owner)):
        unsure(session, row.id, look_at, "the process that sent it stopped")


def sends(session: Session, row_id: str, owner: str, tries: int) -> bool:
    """Whether `owner` is still the one that sends a row, in that try."""
    row = session.get(Outbox, row_id)
    return row is not None and row.state is OutboxState.SENDING and (row.lease_owner, row.tries) == (owner, tries)
