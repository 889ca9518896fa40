"""What is kept of runs' clones, so that a run goes on elsewhere with the same files."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Table, bindparam
from sqlalchemy import select as rows_of
from sqlmodel import Session, col, delete, exists, select

from bot.store import snapshots
from bot.store.insert import insert_or_ignore
from bot.store.prepared import Prepared
from bot.store.tables import Blob, Clone

_CLONE: Table = Clone.__table__  # type: ignore[attr-defined]  # SQLModel types no table

#: asked at every end of a run
_HAS = Prepared(rows_of(_CLONE.c.run_id).where(_CLONE.c.run_id == bindparam("run_id")))


def find(session: Session, run_id: str) -> Clone | None:
    """What is known of a run's clone."""
    return session.get(Clone, run_id)


def begin(session: Session, run_id: str, repository_id: int, ref: str, commit: str) -> None:
    """Note the commit that a run's clone is at. The first one counts: its steps all see the same."""
    values = {"run_id": run_id, "repository_id": repository_id, "ref": ref, "commit": commit, "mark": "", "blob": None}
    insert_or_ignore(session, Clone, values)


def leave(session: Session, run_id: str, mark: str, data: bytes | None, now: datetime) -> None:
    """Note what steps have left there by now, in place of what they had left before; None: too much to be kept."""
    row = session.get(Clone, run_id)
    if row is None:
        return
    before = row.blob
    row.mark, row.blob = mark, snapshots.put_blob(session, data, now) if data else None
    session.add(row)
    session.flush()
    if before != row.blob:
        _drop(session, before)


def forget(session: Session, run_id: str) -> None:
    """The run is over: nobody goes on with its clone."""
    # most runs have none, and asking the ORM for it takes many times as long
    if _HAS.first(session, {"run_id": run_id}) is not None:
        row = session.get_one(Clone, run_id)
        session.delete(row)
        session.flush()
        _drop(session, row.blob)


def _drop(session: Session, digest: str | None) -> None:
    """Remove bytes that no other clone has. Nothing else is kept in this format, so nothing else refers to them."""
    if digest is not None:
        others = exists(select(Clone.run_id).where(Clone.blob == digest))
        session.execute(delete(Blob).where(col(Blob.digest) == digest, ~others))
