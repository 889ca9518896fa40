"""SQLite: WAL, `synchronous=FULL`, `BEGIN IMMEDIATE` for every write, a busy timeout; one process a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import QueuePool

from bot.errors import OperatorError, Transient
from bot.store.backend import READERS, Heard
from bot.store.columns import dump
from bot.store.folder import make_folder
from bot.store.migrate import migrate
from bot.store.prepared import say
from bot.store.refusing import Refusing
from bot.store.savepoints import by_plain_statements, do_rollback_to_savepoint

#: how long a write waits for another process that holds the database. GitHub gives up on a delivery after 10 s, and one
#: may come while those before it wait: its 503 comes before that
BUSY_MS = 4_000


class Sqlite:
    """A file. Raises `OperatorError` where it cannot be opened."""

    def __init__(self, database: str) -> None:
        make_folder(Path(database).parent)
        url = URL.create("sqlite", database=database)
        self._writer = _engine(url, 1, "BEGIN IMMEDIATE", query_only=False)
        self._writing: Connection | None = None
        self._reader = _engine(url, READERS, "BEGIN", query_only=True)
        try:
            migrate(self._writer)
        except DatabaseError as error:
            self.close()
            if type(error) not in (DatabaseError, OperationalError):
                raise  # a table that refuses a row is a fault of ours, which no look at the disk mends
            raise OperatorError(f"cannot open {database}: {error.orig}", "check BOT_DATA_DIR and its disk") from error

    @contextmanager
    def writing(self, bells: Set[str]) -> Iterator[Connection]:
        # the one thread that writes keeps its connection: to take one out and put it back costs half of a small commit
        if self._writing is None:
            self._writing = self._writer.connect()
        connection = self._writing
        try:
            with connection.begin():
                connection.info["changes"] = _changes(connection)
                yield connection
        except BaseException:
            # a COMMIT that was refused may have left its transaction open: what is given back is gone back on
            self._writing = None
            connection.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._reader.connect() as connection:
            yield connection

    def refusal(self, error: BaseException) -> Transient | None:
        if not isinstance(error, OperationalError) or _is_wrong(error):
            return None
        return Transient(f"the database refuses: {error.orig}")

    def is_broken(self, connection: Connection) -> bool:
        return _is_over(connection)  # else a statement that fails undoes itself alone

    def has_written(self, connection: Connection) -> bool:
        return bool(_changes(connection) != connection.info["changes"])

    def ends_all(self, error: BaseException) -> bool:
        return self.refusal(error) is not None or (self._writing is not None and _is_over(self._writing))

    def may_look_again(self, error: BaseException) -> bool:
        return False  # no connection to a file is lost

    def listen(self, heard: Heard, refusing: Refusing) -> None:
        """Nobody else rings: the file is this process's alone."""

    def stop(self) -> None:
        """Nothing is waited for longer than `BUSY_MS`."""

    def close(self) -> None:
        if self._writing is not None:
            self._writing.close()
        self._writer.dispose()
        self._reader.dispose()


def _changes(connection: Connection) -> int:
    """Rows that were changed over this connection so far."""
    driver: Any = connection.connection.driver_connection
    return int(driver.total_changes)


def _is_over(connection: Connection) -> bool:
    """Whether the transaction is undone: a full disk may undo all of it, and not the statement alone that met it.

    Source: https://www.sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction
    """
    driver: Any = connection.connection.driver_connection
    return not driver.in_transaction


def _go_back(connection: Connection, name: str) -> None:
    """To a savepoint, unless that went with its transaction: what ended that is the error that is told then."""
    if not _is_over(connection):
        do_rollback_to_savepoint(connection, name)


def _engine(url: URL, size: int, begin: str, *, query_only: bool) -> Engine:
    engine = create_engine(
        url, poolclass=QueuePool, pool_size=size, max_overflow=0, hide_parameters=True, json_serializer=dump
    )

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        cursor = connection.cursor()
        for pragma in (
            f"busy_timeout={BUSY_MS}",
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            # what is purged is overwritten, and not only forgotten about
            "secure_delete=ON",
            f"query_only={'ON' if query_only else 'OFF'}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        say(connection, begin)

    by_plain_statements(engine, _go_back)
    return engine


def _is_wrong(error: OperationalError) -> bool:
    """Whether it is the statement that is at fault, and not the disk or a lock.

    Source: https://www.sqlite.org/rescode.html#error
    """
    return bool(getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR)
