"""What waits for a time, by a clock that may be set."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, bindparam
from sqlmodel import or_

from bot.store.columns import UtcDateTime

#: nothing that waits for GitHub or for us is put off for longer: what GitHub asks for is taken for a day at most
LONGEST = timedelta(hours=25)


_NOW, _FAR = (bindparam(name, type_=UtcDateTime()) for name in ("now", "longest"))


def due(at: Any) -> ColumnElement[bool]:
    """Whether the time in the column `at` has come, or there is none; for a statement that is given `moment`.

    What is put off until after `LONGEST` was put off by a clock that has been set back since, and would wait for as
    long as that was: it is due.
    """
    return or_(at.is_(None), at <= _NOW, at > _FAR)


def moment(now: datetime) -> dict[str, datetime]:
    """The parameters of a statement that asks what is due."""
    return {"now": now, "longest": now + LONGEST}


def is_due(at: datetime | None, now: datetime) -> bool:
    """The same of a time at hand: who takes a row because it is due must not put it off to that time again."""
    return at is None or at <= now or at > now + LONGEST
