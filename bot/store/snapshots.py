"""Configuration snapshots and bytes by digest: both immutable."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Table, bindparam
from sqlalchemy import select as rows_of
from sqlmodel import Session, col, func, select

from bot.model.ident import new_id
from bot.store.insert import insert_or_ignore, inserting
from bot.store.prepared import Prepared
from bot.store.tables import Blob, Landmark, Snapshot

BLOB_MAX = 64 * 1024 * 1024
#: the landmark of the newest look for bytes that nothing refers to; see `store.blobs`
ROUND = "blobs"


def find(session: Session, repository_id: int, commit: str) -> Snapshot | None:
    return session.exec(
        select(Snapshot).where(Snapshot.repository_id == repository_id, Snapshot.commit == commit)
    ).first()


def keep(session: Session, repository_id: int, commit: str, files: dict[str, str], now: datetime) -> Snapshot:
    """The snapshot of that commit, made if new."""
    insert_or_ignore(
        session,
        Snapshot,
        {"id": new_id(), "repository_id": repository_id, "commit": commit, "files": files, "created_at": now},
    )
    found = find(session, repository_id, commit)
    assert found is not None
    if files and not found.files:  # no run had needed them any more
        found.files = files
        session.add(found)
        session.flush()
    return found


def digest_of(data: bytes) -> str:
    """The digest under which bytes are kept."""
    return hashlib.sha256(data).hexdigest()


def put_blob(session: Session, data: bytes, now: datetime) -> str:
    """Keep bytes and return their digest (SHA-256, hex). Raises ValueError above 64 MiB."""
    if len(data) > BLOB_MAX:
        raise ValueError(f"{len(data)} bytes are more than a blob may hold ({BLOB_MAX})")
    digest = digest_of(data)
    keeping = _keeping(session.get_bind().dialect.name)
    keeping.run(session, {"digest": digest, "data": data, "created_at": now})
    return digest


_MARKS: Table = Landmark.__table__  # type: ignore[attr-defined]  # SQLModel types no table
_ROUND = rows_of(_MARKS.c.detail["round"].as_integer()).where(_MARKS.c.name == ROUND)


@cache
def _keeping(backend: str) -> Prepared:
    """Of bytes that are there already only the round is noted: whoever deletes what is unused must not take them.

    Done at every outcome of every step: made once, and the number of the round is found by the same statement.
    """
    made: dict[str, Any] = {name: bindparam(name) for name in ("digest", "data", "created_at")}
    insert = inserting(backend, Blob).values(**made, round=func.coalesce(_ROUND.scalar_subquery(), 0))
    newer = insert.excluded.round
    noted = insert.on_conflict_do_update(
        index_elements=["digest"], set_={"round": newer}, where=col(Blob.round) < newer
    )
    return Prepared(noted)


def newest_round(session: Session) -> int:
    """The number of the newest look for unused bytes."""
    return session.connection().execute(_ROUND).scalar() or 0


def small_blobs(session: Session, digests: Collection[str], limit: int) -> dict[str, bytes]:
    """By digest: the bytes of those that have at most `limit`; larger ones are not read."""
    small = select(Blob).where(col(Blob.digest).in_(digests), func.length(col(Blob.data)) <= limit)
    return {blob.digest: blob.data for blob in session.exec(small)}


def get_blob(session: Session, digest: str) -> bytes:
    """The bytes of that digest. Raises `NoResultFound` where they are gone."""
    return session.get_one(Blob, digest).data
