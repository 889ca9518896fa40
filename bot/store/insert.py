"""Rows that may be there already: inserted unless a unique key of theirs is taken, on either database."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import sqlite
from sqlmodel import Session, SQLModel

from bot.store.prepared import Prepared

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql


def insert_or_ignore(session: Session, table: type[SQLModel], values: dict[str, Any]) -> bool:
    """Insert a row unless any unique key of it is taken; True if it was inserted."""
    return _ignoring(session.get_bind().dialect.name, table, tuple(values)).run(session, values) == 1


def insert_new(session: Session, table: type[SQLModel], rows: Sequence[dict[str, Any]]) -> int:
    """The same for each of several rows, which name the same columns; how many were inserted.

    Which they are is not told: one statement of many rows that tells of each is the dearer one.
    """
    return _ignoring(session.get_bind().dialect.name, table, tuple(rows[0])).run_each(session, rows) if rows else 0


@cache
def _ignoring(backend: str, table: type[SQLModel], columns: tuple[str, ...]) -> Prepared:
    """Made once for a table and what is given of it: to put a statement together costs more than to run it."""
    return Prepared(inserting(backend, table).on_conflict_do_nothing(), columns)


def inserting(backend: str, table: type[SQLModel]) -> postgresql.Insert | sqlite.Insert:
    """An insert into `table` that can say what is done where a key is taken; `backend` is the dialect's name."""
    rows = table.__table__  # type: ignore[attr-defined]  # SQLModel types no table
    if backend == "postgresql":
        # not before it is needed: whoever uses SQLite has none of it loaded
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(rows)
    return sqlite.insert(rows)
