"""How far something that goes on for ever has come."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Session

from bot.store.tables import Landmark


def reached(session: Session, name: str) -> datetime | None:
    """Up to when; None where it never began."""
    row = session.get(Landmark, name)
    return row.at if row is not None else None


def reach(session: Session, name: str, at: datetime) -> None:
    """It has come to `at`; never back from where it was."""
    row = session.get(Landmark, name) or Landmark(name=name, at=at)
    row.at = max(row.at, at)
    session.add(row)
