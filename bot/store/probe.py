"""Whether the database takes writes now."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlmodel import Session

from bot.store.tables import Landmark

_NAME = "probe"


def probe(session: Session) -> None:
    """A write like any other, of one row that is always the same: a disk that is full refuses it, a reading does not
    notice.
    """
    row = session.get(Landmark, _NAME) or Landmark(name=_NAME, at=datetime.now(UTC))
    row.at, row.detail = datetime.now(UTC), {"turn": int(row.detail.get("turn", 0)) + 1}
    session.add(row)
