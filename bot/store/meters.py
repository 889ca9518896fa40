"""What an installation has sent: its meter, and the times of what it created, as rows that all processes share."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, update
from sqlmodel import Session, col, or_, select

from bot.store.tables import Creation, Meter


def meter(session: Session, installation_id: int, *, tokens: float, now: datetime) -> Meter:
    """The installation's meter; a new one has `tokens`. Its writer holds it until the end of the transaction."""
    row = session.exec(select(Meter).where(Meter.installation_id == installation_id).with_for_update()).first()
    if row is None:
        row = Meter(installation_id=installation_id, tokens=tokens, filled_at=now)
        session.add(row)
        session.flush()
    return row


def created_before_last(session: Session, installation_id: int, most: int) -> datetime | None:
    """When the `most`-th newest creation was, None where there are fewer."""
    return session.exec(
        select(Creation.at)
        .where(Creation.installation_id == installation_id)
        .order_by(col(Creation.at).desc())
        .offset(most - 1)
        .limit(1)
    ).first()


def create(session: Session, installation_id: int, outbox_id: str, at: datetime) -> None:
    """A request leaves that creates content."""
    session.add(Creation(installation_id=installation_id, outbox_id=outbox_id, at=at))


def created(session: Session, outbox_id: str, sent: datetime, at: datetime | None) -> None:
    """GitHub answered, at `at`, what was sent at `sent`. None: it never had it."""
    which = (col(Creation.outbox_id) == outbox_id, col(Creation.at) == sent)
    session.execute(delete(Creation).where(*which) if at is None else update(Creation).where(*which).values(at=at))


def purge(session: Session, installation_id: int, before: datetime, after: datetime) -> None:
    """Forget creations from before `before`, and from after `after`: a clock that was set back made them."""
    session.execute(
        delete(Creation).where(
            col(Creation.installation_id) == installation_id,
            or_(col(Creation.at) <= before, col(Creation.at) > after),
        )
    )
