"""What waits for a time, by a clock that may be set."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import or_

#: nothing that waits for GitHub or for us is put off for longer: what GitHub asks for is taken for a day at most
LONGEST = timedelta(hours=25)


def due(at: Any, now: Any, longest: Any = None) -> ColumnElement[bool]:
    """Whether the time in the column `at` has come, or there is none.

    What is put off until after `LONGEST` was put off by a clock that has been set back since, and would wait for as
    long as that was: it is due. `longest` is `now + LONGEST` where `now` is a parameter.
    """
    far = now + LONGEST if isinstance(now, datetime) else longest
    return or_(at.is_(None), at <= now, at > far)


def is_due(at: datetime | None, now: datetime) -> bool:
    """The same of a time at hand: who takes a row because it is due must not put it off to that time again."""
    return at is None or at <= now or at > now + LONGEST
