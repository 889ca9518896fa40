"""What an installation has sent: its meter, and the times of what it created, as rows that all processes share."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Table, bindparam, delete, insert, update
from sqlmodel import Session, col, or_, select

from bot.model.ident import new_id
from bot.store.tables import Creation, Meter

_ROWS: Table = Creation.__table__  # type: ignore[attr-defined]  # SQLModel types no table
#: made once: putting a statement together costs more than running it, and these run for everything that is sent. No
#: creation is an object, so that nothing has to be brought up to date beside the database
_METER = select(Meter).where(Meter.installation_id == bindparam("installation")).with_for_update()
_BEFORE_LAST = (
    select(Creation.at)
    .where(Creation.installation_id == bindparam("installation"))
    .order_by(col(Creation.at).desc())
    .offset(bindparam("later"))
    .limit(1)
)
_CREATED = insert(_ROWS)
_SENT = (_ROWS.c.outbox_id == bindparam("row"), _ROWS.c.at == bindparam("sent"))
_NEVER = delete(_ROWS).where(*_SENT)
_ANSWERED = update(_ROWS).where(*_SENT).values(at=bindparam("answered"))
_OLD = delete(_ROWS).where(
    _ROWS.c.installation_id == bindparam("installation"),
    or_(_ROWS.c.at <= bindparam("before"), _ROWS.c.at > bindparam("after")),
)


def meter(session: Session, installation_id: int, *, tokens: float, now: datetime) -> Meter:
    """The installation's meter; a new one has `tokens`. Its writer holds it until the end of the transaction."""
    row = session.exec(_METER, params={"installation": installation_id}).first()
    if row is None:
        row = Meter(installation_id=installation_id, tokens=tokens, filled_at=now)
        session.add(row)
        session.flush()
    return row


def created_before_last(session: Session, installation_id: int, most: int) -> datetime | None:
    """When the `most`-th newest creation was, None where there are fewer."""
    return session.exec(_BEFORE_LAST, params={"installation": installation_id, "later": most - 1}).first()


def create(session: Session, installation_id: int, outbox_id: str, at: datetime) -> None:
    """A request leaves that creates content."""
    values = {"id": new_id(), "installation_id": installation_id, "outbox_id": outbox_id, "at": at}
    session.connection().execute(_CREATED, values)


def created(session: Session, outbox_id: str, sent: datetime, at: datetime | None) -> None:
    """GitHub answered, at `at`, what was sent at `sent`. None: it never had it."""
    values = {"row": outbox_id, "sent": sent}
    if at is None:
        session.connection().execute(_NEVER, values)
    else:
        session.connection().execute(_ANSWERED, {**values, "answered": at})


def purge(session: Session, installation_id: int, before: datetime, after: datetime) -> None:
    """Forget creations from before `before`, and from after `after`: a clock that was set back made them."""
    session.connection().execute(_OLD, {"installation": installation_id, "before": before, "after": after})
