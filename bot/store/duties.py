"""What one process at a time may do, and who does it: held by who lives, checked where it counts.

A duty is free where nobody has it, or nobody who lives. Whether somebody still has it is said by the row's owner alone:
whoever takes it changes that in a write transaction, and those go one after another.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from bot.store import processes
from bot.store.prepared import Prepared
from bot.store.tables import Duty

#: every write of a duty asks it first
_OWNER = Prepared(select(Duty.owner).where(Duty.name == bindparam("name")))


def keep(session: Session, owner: str, names: Collection[str]) -> set[str]:
    """Take those of the duties that are free; the names of what `owner`, who has just beaten, has now."""
    rows = {row.name: row for row in session.exec(select(Duty).where(col(Duty.name).in_(names)))}
    living = processes.living(session, owner) if any(row.owner != owner for row in rows.values()) else set()
    held = set()
    for name in names:
        row = rows.get(name) or Duty(name=name, owner=owner)
        if row.owner != owner and row.owner in living:
            continue
        row.owner = owner
        session.add(row)
        held.add(name)
    return held


def held(session: Session, name: str, owner: str) -> bool:
    """Whether `owner` has the duty: the fence of every transaction that needs it."""
    return bool(_OWNER.scalar(session, {"name": name}) == owner)
