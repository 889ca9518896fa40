"""Which processes work on this database, and which of them live: whoever beats, by the database's own time.

What a process holds (runs, duties, posts under way) is good as long as it lives. One without a row is dead, so that a
graceful end takes effect at once (docs/adr: processes, leases and duties).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, text, update
from sqlmodel import Session, col, select

from bot.store.database import ring
from bot.store.tables import Duty, Landmark, Process
from bot.store.tables.cluster import WRITERS

#: a process that has not beaten for so long is dead
DEAD_AFTER = timedelta(seconds=8)
#: who was silent for so long himself knows nothing of the others: the database may have been away
LATE = timedelta(seconds=5)
#: the last transactions of stores that have written nothing for so long go: nobody waits to know of one any more
FORGET_WRITERS_AFTER = timedelta(days=7)

#: the time of this very moment: PostgreSQL's `now()` is when the transaction began, which may have waited for its turn
_NOW = {
    "sqlite": "SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')",
    "postgresql": "SELECT clock_timestamp()",
}


def now(session: Session) -> datetime:
    """The database's time, the one clock that all processes share."""
    found = session.connection().execute(text(_NOW[session.get_bind().dialect.name])).scalar_one()
    return found.astimezone(UTC) if isinstance(found, datetime) else datetime.fromisoformat(found)


def beat(session: Session, process_id: str, *, host: str, kind: str) -> None:
    """Note that a process lives, whether or not it is known.

    Where it comes late, nobody may have been able to beat: whoever lived at its last time has the time to do so now.
    """
    at = now(session)
    row = session.get(Process, process_id)
    if row is None:
        row = Process(id=process_id, host=host, kind=kind, started_at=at, beat_at=at)
        old = (col(Landmark.name).startswith(WRITERS), col(Landmark.at) < at - FORGET_WRITERS_AFTER)
        session.execute(delete(Landmark).where(*old))
    elif at - row.beat_at > LATE:
        lived = (col(Process.beat_at) > row.beat_at - DEAD_AFTER, col(Process.beat_at) < at)
        session.execute(update(Process).where(*lived).values(beat_at=at))
    row.beat_at = at
    session.add(row)
    session.flush()


def living(session: Session, asker: str = "") -> set[str]:
    """Ids of the processes that live, as far as `asker` can tell: all that are known, where it is late itself."""
    at, beats = now(session), dict(session.exec(select(Process.id, Process.beat_at)).all())
    if asker in beats and at - beats[asker] > LATE:
        return set(beats)
    return {name for name, beat_at in beats.items() if beat_at > at - DEAD_AFTER}


def leave(session: Session, process_id: str) -> None:
    """A process ends: others take over what it held at once."""
    session.execute(delete(Process).where(col(Process.id) == process_id))
    session.execute(delete(Duty).where(col(Duty.owner) == process_id))
    ring(session, "duty")


def alone(session: Session, process_id: str) -> None:
    """There is no other process: what a lock on the database's file says. Whatever another one held is free."""
    session.execute(delete(Process).where(col(Process.id) != process_id))
    session.execute(delete(Duty).where(col(Duty.owner) != process_id))
