"""Bytes that nothing refers to any more: found by reading everything that may, and deleted without racing a writer.

Every look has a number, and whoever keeps bytes (`snapshots.put_blob`) notes the newest with them, also where they are
there already. Whoever refers to bytes has kept them in the same transaction, or copies a reference of a run that has
its bytes. So what was last kept before a look began, and is not found by it, is referred to by nothing: no clock
decides that, and writers go on meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from sqlalchemy import String, cast, delete, func
from sqlalchemy import select as rows_of
from sqlmodel import Session, col, select

from bot.store.database import Store
from bot.store.kept import digests, table
from bot.store.snapshots import ROUND, newest_round
from bot.store.sweep import PAGE, Page, Sweep
from bot.store.tables import Blob, Landmark

#: bytes that one write deletes at most, one blob aside
MOST = 8 * 1024 * 1024
_DIGEST = re.compile(r"[0-9a-f]{64}")


def begin(session: Session, now: datetime) -> int:
    """Begin a look; its number."""
    number = newest_round(session) + 1
    session.merge(Landmark(name=ROUND, at=now, detail={"round": number}))
    return number


async def used(store: Store) -> set[bytes]:
    """Every digest that a row refers to, in 32 bytes each. Read page by page, so that no read takes long."""
    found: set[bytes] = set()
    for name, columns in digests().items():
        after = ""
        while True:
            last, texts = await store.read(
                lambda session, name=name, columns=columns, after=after: _texts(  # type: ignore[misc]  # mypy infers no type for a default
                    session, name, columns, after
                )
            )
            for text in texts:
                found.update(map(bytes.fromhex, _DIGEST.findall(text)))
            if last is None:
                break
            after = last
    return found


def _texts(session: Session, name: str, columns: Sequence[str], after: str) -> tuple[str | None, list[str]]:
    """The columns as text, of a page of rows behind an id, and the last of those."""
    found = table(name)
    (key,) = found.primary_key.columns
    query = rows_of(key, *(cast(found.c[column], String) for column in columns))
    rows = session.connection().execute(query.where(key > after).order_by(key).limit(PAGE)).all()
    texts = [text for row in rows for text in row[1:] if text]
    return (rows[-1][0] if len(rows) == PAGE else None), texts


def unused(referred: AbstractSet[bytes], number: int) -> Sweep:
    """Delete what the look of that number did not find referred to."""

    def find(session: Session, after: str) -> Page:
        query = select(Blob.digest, func.length(col(Blob.data)), Blob.round).where(col(Blob.digest) > after)
        rows = session.exec(query.order_by(col(Blob.digest)).limit(PAGE)).all()
        due: list[str] = []
        size = 0
        for digest, length, kept in rows:
            if kept >= number or bytes.fromhex(digest) in referred:
                continue
            if due and size + length > MOST:
                return Page(due, due[-1])
            due.append(digest)
            size += length
        return Page(due, rows[-1][0] if len(rows) == PAGE else None)

    def act(session: Session, ids: Sequence[str]) -> int:
        gone = delete(table("blob")).where(col(Blob.digest).in_(ids), col(Blob.round) < number)
        return session.connection().execute(gone).rowcount

    return Sweep("blob", find, act)
