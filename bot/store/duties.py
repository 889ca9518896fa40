"""What one process at a time may do, and who does it: a lease of the database's time, checked where it counts.

`until` only says when another process may take a duty. Whether somebody still has it is said by the row's owner alone:
whoever takes it changes that in a write transaction, and those go one after another.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import delete
from sqlmodel import Session, col, select

from bot.store import processes
from bot.store.database import ring
from bot.store.tables import Duty

#: how long a duty is held without a sign of life: as long as its process counts as living
LEASE = processes.DEAD_AFTER


def keep(session: Session, owner: str, names: Collection[str], lease: timedelta = LEASE) -> set[str]:
    """Prolong those of the duties that `owner` has, and take those that are free; the names of what it has now."""
    at = processes.now(session)
    rows = {row.name: row for row in session.exec(select(Duty).where(col(Duty.name).in_(names)))}
    held = set()
    for name in names:
        row = rows.get(name)
        if row is None:
            row = Duty(name=name, owner=owner, until=at)
        elif row.owner != owner and row.until > at:
            continue
        row.owner, row.until = owner, at + lease
        session.add(row)
        held.add(name)
    return held


def held(session: Session, name: str, owner: str) -> bool:
    """Whether `owner` has the duty: the fence of every transaction that needs it."""
    row = session.get(Duty, name)
    return row is not None and row.owner == owner


def give(session: Session, owner: str) -> None:
    """Give back every duty of `owner`: whoever stands by takes over at once."""
    session.execute(delete(Duty).where(col(Duty.owner) == owner))
    ring(session, "duty")
