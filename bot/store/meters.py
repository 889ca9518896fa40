"""What an installation has sent: its meter, and the times of what it created, as rows that all processes share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Table, bindparam, delete, insert, or_, select, update
from sqlmodel import Session

from bot.model.ident import new_id
from bot.store.prepared import Prepared
from bot.store.tables import Creation, Meter

_ROWS: Table = Creation.__table__  # type: ignore[attr-defined]  # SQLModel types no table
_METERS: Table = Meter.__table__  # type: ignore[attr-defined]  # SQLModel types no table
#: for everything that is sent; no creation and no meter is an object, so that nothing has to be brought up to date
#: beside the database
_OF = _METERS.c.installation_id == bindparam("installation")
_LEVEL = Prepared(
    select(_METERS.c.tokens, _METERS.c.filled_at, _METERS.c.blocked_until, _METERS.c.strikes)
    .where(_OF)
    .with_for_update()
)
_NEW = Prepared(insert(_METERS), ("installation_id", "tokens", "filled_at", "strikes"))
_KEPT = Prepared(
    update(_METERS)
    .where(_OF)
    .values(
        tokens=bindparam("left"),
        filled_at=bindparam("at"),
        blocked_until=bindparam("until"),
        strikes=bindparam("so_far"),
    )
)
_CALM = Prepared(
    update(_METERS).where(_OF, _METERS.c.strikes > 0, _METERS.c.blocked_until <= bindparam("sent")).values(strikes=0)
)
_BEFORE_LAST = Prepared(
    select(_ROWS.c.at)
    .where(_ROWS.c.installation_id == bindparam("installation"))
    .order_by(_ROWS.c.at.desc())
    .offset(bindparam("later"))
    .limit(1)
)
_CREATED = Prepared(insert(_ROWS), ("id", "installation_id", "outbox_id", "at"))
_SENT = (_ROWS.c.outbox_id == bindparam("row"), _ROWS.c.at == bindparam("sent"))
_NEVER = Prepared(delete(_ROWS).where(*_SENT))
_ANSWERED = Prepared(update(_ROWS).where(*_SENT).values(at=bindparam("answered")))
_OLD = Prepared(
    delete(_ROWS).where(
        _ROWS.c.installation_id == bindparam("installation"),
        or_(_ROWS.c.at <= bindparam("before"), _ROWS.c.at > bindparam("after")),
    )
)


@dataclass(slots=True)
class Level:
    """What a meter shows: see `bot.store.tables.Meter`."""

    tokens: float
    filled_at: datetime
    blocked_until: datetime | None = None
    strikes: int = 0


def level(session: Session, installation_id: int, *, tokens: float, now: datetime) -> Level:
    """What the installation's meter shows; a new one has `tokens`. Its writer holds it until the transaction ends."""
    row = _LEVEL.first(session, {"installation": installation_id})
    if row is not None:
        return Level(*row)
    new = Level(tokens, now)
    values = {"installation_id": installation_id, "tokens": tokens, "filled_at": now, "strikes": new.strikes}
    _NEW.run(session, values)
    return new


def keep(session: Session, installation_id: int, shows: Level) -> None:
    """The installation's meter, which is there, shows this from now on."""
    values = {
        "installation": installation_id,
        "left": shows.tokens,
        "at": shows.filled_at,
        "until": shows.blocked_until,
        "so_far": shows.strikes,
    }
    _KEPT.run(session, values)


def calm(session: Session, installation_id: int, sent: datetime) -> None:
    """What was sent at `sent` was done: a limit that was over by then was the last of its row."""
    _CALM.run(session, {"installation": installation_id, "sent": sent})


def created_before_last(session: Session, installation_id: int, most: int) -> datetime | None:
    """When the `most`-th newest creation was, None where there are fewer."""
    found: datetime | None = _BEFORE_LAST.scalar(session, {"installation": installation_id, "later": most - 1})
    return found


def create(session: Session, installation_id: int, outbox_id: str, at: datetime) -> None:
    """A request leaves that creates content."""
    values = {"id": new_id(), "installation_id": installation_id, "outbox_id": outbox_id, "at": at}
    _CREATED.run(session, values)


def created(session: Session, outbox_id: str, sent: datetime, at: datetime | None) -> None:
    """GitHub answered, at `at`, what was sent at `sent`. None: it never had it."""
    values = {"row": outbox_id, "sent": sent}
    if at is None:
        _NEVER.run(session, values)
    else:
        _ANSWERED.run(session, {**values, "answered": at})


def purge(session: Session, installation_id: int, before: datetime, after: datetime) -> None:
    """Forget creations from before `before`, and from after `after`: a clock that was set back made them."""
    _OLD.run(session, {"installation": installation_id, "before": before, "after": after})
