"""Rows that may be there already: inserted unless a unique key of theirs is taken, on either database."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Insert
from sqlalchemy.dialects import sqlite
from sqlmodel import Session, SQLModel

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql


def insert_or_ignore(session: Session, table: type[SQLModel], values: dict[str, Any]) -> bool:
    """Insert a row unless any unique key of it is taken; True if it was inserted."""
    return _inserted(session, table, values) == 1


def insert_new(session: Session, table: type[SQLModel], rows: Sequence[dict[str, Any]]) -> int:
    """The same for each of several rows, which name the same columns; how many were inserted.

    Which they are is not told: one statement of many rows that tells of each is the dearer one.
    """
    return _inserted(session, table, rows)


def _inserted(session: Session, table: type[SQLModel], values: dict[str, Any] | Sequence[dict[str, Any]]) -> int:
    connection = session.connection()
    # psycopg knows the count only until the cursor is closed
    done = connection.execute(
        _ignoring(connection.dialect.name, table), values, execution_options={"preserve_rowcount": True}
    )
    return done.rowcount


@cache
def _ignoring(backend: str, table: type[SQLModel]) -> Insert:
    """Made once a table: to put a statement together costs more than to run it."""
    return inserting(backend, table).on_conflict_do_nothing()


def inserting(backend: str, table: type[SQLModel]) -> postgresql.Insert | sqlite.Insert:
    """An insert into `table` that can say what is done where a key is taken; `backend` is the dialect's name."""
    rows = table.__table__  # type: ignore[attr-defined]  # SQLModel types no table
    if backend == "postgresql":
        # not before it is needed: whoever uses SQLite has none of it loaded
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(rows)
    return sqlite.insert(rows)
