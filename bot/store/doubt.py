"""What was sent and got no answer: looked for, confirmed by what comes back, and only then sent again."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import update
from sqlmodel import Session, col, select

from bot.model.state import OutboxState, follow
from bot.store import posts
from bot.store.database import ring
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
        .where(Outbox.state == OutboxState.UNSURE, col(Outbox.not_before) <= now)
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


def recover(session: Session, owner: str, look_at: datetime) -> None:
    """What a dead process was sending is unsure."""
    for row in session.exec(
        select(Outbox).where(Outbox.state == OutboxState.SENDING, col(Outbox.lease_owner) != owner)
    ).all():
        unsure(session, row.id, look_at, "the process that sent it ended")
