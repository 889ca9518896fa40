"""Savepoints by the statement as it is: each of the works that share a commit has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine

from bot.store.prepared import say


def do_savepoint(connection: Connection, name: str) -> None:
    """As a dialect has it."""
    say(connection, f"SAVEPOINT {name}")


def do_rollback_to_savepoint(connection: Connection, name: str) -> None:
    """As a dialect has it."""
    say(connection, f"ROLLBACK TO SAVEPOINT {name}")


def do_release_savepoint(connection: Connection, name: str) -> None:
    """As a dialect has it."""
    say(connection, f"RELEASE SAVEPOINT {name}")


def by_plain_statements(engine: Engine, back: Callable[[Connection, str], None] = do_rollback_to_savepoint) -> None:
    """Have `engine` set, release and go back to savepoints without a statement being put together for each.

    `back` is how it goes back, where the plain way does not do.

    SQLAlchemy names every savepoint anew, so that none of its statements is ever found ready: that took half of what a
    work costs which does nothing. The names are its own and need no quoting. What a dialect does here is its to say
    (SQLAlchemy, `Dialect.do_savepoint`).
    """
    dialect: Any = engine.dialect
    dialect.do_savepoint, dialect.do_release_savepoint = do_savepoint, do_release_savepoint
    dialect.do_rollback_to_savepoint = back
