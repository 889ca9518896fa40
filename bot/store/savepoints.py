"""Savepoints by the statement as it is: each of the works that share a commit has one."""

from __future__ import annotations

from sqlalchemy import Connection, Engine

from bot.store.prepared import say


def by_plain_statements(engine: Engine) -> None:
    """Have `engine` set, release and go back to savepoints without a statement being put together for each.

    SQLAlchemy names every savepoint anew, so that none of its statements is ever found ready: that took half of what a
    work costs which does nothing. The names are its own and need no quoting. What a dialect does here is its to say
    (SQLAlchemy, `Dialect.do_savepoint`).
    """
    for does in (do_savepoint, do_rollback_to_savepoint, do_release_savepoint):
        setattr(engine.dialect, does.__name__, does)


def do_savepoint(connection: Connection, name: str) -> None:
    """As a dialect has it."""
    say(connection, f"SAVEPOINT {name}")


def do_rollback_to_savepoint(connection: Connection, name: str) -> None:
    """As a dialect has it."""
    say(connection, f"ROLLBACK TO SAVEPOINT {name}")


def do_release_savepoint(connection: Connection, name: str) -> None:
    """As a dialect has it."""
    say(connection, f"RELEASE SAVEPOINT {name}")
