"""PostgreSQL: the same rows for several processes, of which one writes at a time (docs/adr: the same rows).

Every write transaction takes one advisory lock first, so that whatever is true of SQLite's single writer is true here.
A holder that sleeps or is cut off loses the lock within ten seconds; nobody waits for it longer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import psycopg
from psycopg.abc import Params, Query
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.types.json import set_json_dumps
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import QueuePool

from bot import log
from bot.errors import OperatorError, Transient, Unsure
from bot.model.ident import new_id
from bot.store.backend import READERS, Heard
from bot.store.columns import dump
from bot.store.listening import CHANNEL, Listener
from bot.store.migrate import current, migrate
from bot.store.refusing import Refusing
from bot.store.savepoints import by_plain_statements
from bot.store.tables.cluster import WRITERS

_log = log.get("store")

#: the advisory lock of whoever writes: "thread" in ASCII
WRITER = 0x746872656164
#: oldest version with all that is used: `pg_xact_status` by 64-bit numbers
OLDEST = 13
#: how long a write waits for those of other processes, and one statement for its end
LOCK_SECONDS, STATEMENT_SECONDS = 10, 30
#: how long a transaction may do nothing: a holder that sleeps keeps the lock no longer. Meanwhile nobody can beat, so
#: that this and the time between two beats are less than what makes a process count as dead (`processes.DEAD_AFTER`)
IDLE_SECONDS = 4
#: one that reads holds up nobody
READING_IDLE = {"idle_in_transaction_session_timeout": "60s"}
#: a silent peer is asked after this many seconds, then every so many, so many times: it is given up in under 10 s
#: (both sides ask; `tcp_user_timeout`, in milliseconds, is for what was sent and is not acknowledged)
ALIVE = {"keepalives_idle": 3, "keepalives_interval": 2, "keepalives_count": 2}
UNACKNOWLEDGED_MS = 9_000
#: parameters of a connection that the URL may set otherwise
#: Source: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
_PARAMETERS: dict[str, Any] = {
    "application_name": "threadsmith",
    "connect_timeout": 5,
    "tcp_user_timeout": UNACKNOWLEDGED_MS,
    **ALIVE,
}
#: settings of a session; `synchronous_commit` is only ever raised: who is answered must not hang on luck
_SETTINGS = {
    "timezone": "UTC",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
    "tcp_user_timeout": str(UNACKNOWLEDGED_MS),
    **{f"tcp_{name}": str(value) for name, value in ALIVE.items()},
}
#: a migration takes as long as it takes, and so does waiting for one of another process
_PATIENT = dict.fromkeys(("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"), "0")
#: errors that pass although the driver does not call them operational: the server has become a standby, or has ended a
#: transaction that did nothing for too long
_PASSING = {"25006", "25P03", "25P04"}
_BEGIN_TO_WRITE = (
    f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({WRITER}), pg_current_xact_id()::text"
)
#: each store notes in a row of its own which transaction it wrote last: after a crash the server gives numbers anew
#: whose transactions it has lost, so that a number alone may have been committed by somebody else
_NOTE = (
    "INSERT INTO landmark (name, at, detail) VALUES ('{name}', clock_timestamp(), "
    "json_build_object('transaction', pg_current_xact_id()::text)) "
    "ON CONFLICT (name) DO UPDATE SET at = excluded.at, detail = excluded.detail"
)
_NOTED = "SELECT detail ->> 'transaction' FROM landmark WHERE name = %s"
_BEGIN_TO_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: what ends a name or a password in a URL, and stands there otherwise
_ENCODE = "in a user's name and a password write @ as %40, : as %3A, / as %2F, ? as %3F and % as %25"


class _Cursor(psycopg.Cursor[Any]):
    """A cursor that leaves the server with its eye on us, whatever it was asked."""

    def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        """As psycopg's, which sends a pipeline. Behind one PostgreSQL 18.4 counts no time that nothing is done in a
        transaction, so that who stopped there would keep the lock for ever; it does behind whatever comes next.
        """
        super().executemany(query, params_seq, returning=returning)
        self.connection.execute("SELECT 1", prepare=False)


class Postgres:
    """A database of a server, by a URL as libpq takes it. Raises `OperatorError` where it cannot be opened."""

    def __init__(self, url: str, *, make: bool = True) -> None:
        """`make` its tables where they are missing or of an earlier version."""
        authority, _, path = url.partition("://")[2].partition("?")[0].partition("/")
        if authority.count("@") > 1 or "@" in path:
            # libpq would take what stands behind the sign for a host, and name it
            raise OperatorError(
                "BOT_DATABASE_URL cannot be read: its password has a character that ends it",
                _ENCODE,
            )
        try:
            self._parameters = _PARAMETERS | conninfo_to_dict(url)
        except psycopg.Error as error:  # its text holds the URL, and that a password
            raise OperatorError(
                "BOT_DATABASE_URL cannot be read",
                f"use postgresql://<user>:<password>@<host>:<port>/<database>; {_ENCODE}",
            ) from error
        self._name = new_id()
        self._ending = threading.Event()
        self._note = f"{WRITERS}{self._name}"
        self._writer = self._engine(1, f"{_BEGIN_TO_WRITE}; {_NOTE.format(name=self._note)}")
        self._reader = self._engine(READERS, _BEGIN_TO_READ, READING_IDLE)
        self._listener = Listener(self._connect, self._name)
        migrator = self._engine(1, _BEGIN_TO_WRITE, _PATIENT)
        try:
            self._look()
            if make:
                migrate(migrator)
        except (DBAPIError, psycopg.Error) as error:
            self.close()
            raise OperatorError(
                f"cannot open {self.shown}: {_said(error)}",
                "check BOT_DATABASE_URL, and that the server takes connections",
            ) from error
        except BaseException:
            self.close()
            raise
        finally:
            migrator.dispose()

    @property
    def shown(self) -> str:
        """Which database it is, for people."""
        given = self._parameters
        where = ":".join(str(given[key]) for key in ("host", "port") if given.get(key))
        return f"the database {given.get('dbname') or given.get('user') or ''} at {where or 'the local server'}"

    def _connect(self, settings: Mapping[str, str] = MappingProxyType({})) -> psycopg.Connection[Any]:
        """A connection in which every statement is a transaction, unless it is told to begin one."""
        connection: psycopg.Connection[Any] = psycopg.connect(
            **self._parameters, autocommit=True, cursor_factory=_Cursor
        )
        try:
            wanted = {**_SETTINGS, **settings}
            if connection.execute("SHOW synchronous_commit").fetchone() == ("off",):
                wanted["synchronous_commit"] = "on"
            chosen = ", ".join("set_config(%s, %s, false)" for _ in wanted)
            set_json_dumps(dump, connection)
            connection.execute(f"SELECT {chosen}".encode(), [part for pair in wanted.items() for part in pair])
        except BaseException:
            connection.close()
            raise
        return connection

    def _engine(self, size: int, begin: str, settings: Mapping[str, str] = MappingProxyType({})) -> Engine:
        engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: self._connect(settings),
            poolclass=QueuePool,
            pool_size=size,
            max_overflow=0,
            hide_parameters=True,
            use_native_hstore=False,
        )
        event.listen(engine, "begin", lambda connection: _begin(connection, begin))
        by_plain_statements(engine)
        return engine

    def _look(self) -> None:
        """Whether this server can be used at all."""
        with self._reader.connect() as connection:
            driver: Any = connection.connection.driver_connection
            version = driver.info.server_version
            if version < OLDEST * 10_000:
                told = f"{self.shown} is of PostgreSQL {version // 10_000}"
                raise OperatorError(told, f"use PostgreSQL {OLDEST} or newer")
            encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
            if encoding != "UTF8":
                raise OperatorError(
                    f"{self.shown} is encoded as {encoding}",
                    "make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
                )

    def described(self) -> str:
        """What it is, whether its tables are there, and what an operator should know of its server."""
        asked = "SELECT current_setting('server_version'), current_setting('fsync')"
        with self._reader.connect() as connection:
            version, fsync = connection.execute(text(asked)).one()
        at = current(self._reader)
        state = "no tables yet; `serve` makes them" if at is None else f"its tables are at {at}"
        lossy = "" if fsync == "on" else "; fsync is off: a power cut loses what was acknowledged"
        return f"{self.shown}, PostgreSQL {version}: {state}{lossy}"

    @contextmanager
    def writing(self, bells: Set[str]) -> Iterator[Connection]:
        with _begun(self._writer) as connection:
            number = connection.info["transaction"]
            yield connection
            if bells:
                said = " ".join((self._name, *sorted(bells)))
                connection.execute(text("SELECT pg_notify(:channel, :said)"), {"channel": CHANNEL, "said": said})
            if self.is_broken(connection):
                # the server would answer COMMIT by undoing everything, and call that no error
                raise RuntimeError("a statement failed outside of every work")
            try:
                connection.commit()
            except DBAPIError as error:
                if not error.connection_invalidated or not self._settled(number):
                    raise

    def _settled(self, number: str) -> bool:
        """Whether a transaction was committed whose COMMIT got no answer. Asks until it is known.

        Whoever asked for the work may neither be told that it is done nor be let do it again before that. A number
        that was committed counts only where the row that notes ours has it, too (`_NOTE`).
        Raises `Unsure` where the store is closed meanwhile.
        Source: https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT
        """
        _log.warning("commit_unanswered", transaction=number)
        pause = 0.05
        while True:
            try:
                with self._connect() as connection:
                    row = connection.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone()
                    status = row[0] if row is not None else None
                    # a statement of its own: its view may not be older than the answer above
                    noted = connection.execute(_NOTED, (self._note,)).fetchone()
                if status != "in progress":
                    ours = noted is not None and noted[0] == number
                    _log.warning("commit_settled", transaction=number, status=status, ours=ours)
                    return bool(status == "committed") and ours
            except psycopg.errors.InvalidParameterValue:
                # a number that the server has yet to give: a standby took over that never had this transaction
                return False
            except psycopg.OperationalError as error:
                _log.warning("database_out_of_reach", reason=_said(error))
            if self._ending.wait(pause):
                raise Unsure("the store was closed before it was known whether the last writes were kept")
            pause = min(pause * 2, 2.0)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with _begun(self._reader) as connection:
            yield connection

    def refusal(self, error: BaseException) -> Transient | None:
        if isinstance(error, Transient):
            return error
        if not isinstance(error, DBAPIError) or error.orig is None:
            return None
        state = getattr(error.orig, "sqlstate", None)
        if isinstance(error, OperationalError) or error.connection_invalidated or state in _PASSING:
            return Transient(f"the database refuses: {_said(error)}")
        return None

    def is_broken(self, connection: Connection) -> bool:
        driver: Any = connection.connection.driver_connection
        return bool(driver.info.transaction_status == TransactionStatus.INERROR)

    def has_written(self, connection: Connection) -> bool:
        return True  # each notes itself: see `_NOTE`

    def ends_all(self, error: BaseException) -> bool:
        return isinstance(error, DBAPIError) and error.connection_invalidated

    def may_look_again(self, error: BaseException) -> bool:
        return self.ends_all(error)

    def listen(self, heard: Heard, refusing: Refusing) -> None:
        self._listener.start(heard, refusing)

    def stop(self) -> None:
        self._ending.set()

    def close(self) -> None:
        self._ending.set()
        self._listener.stop()
        self._writer.dispose()
        self._reader.dispose()


@contextmanager
def _begun(engine: Engine) -> Iterator[Connection]:
    """A transaction. A connection that was cut off while it lay in the pool is replaced: it was asked nothing yet."""
    for others in range(READERS, -1, -1):
        connection = engine.connect()
        try:
            connection.begin()
            break
        except DBAPIError as error:
            connection.close()
            if not others or not error.connection_invalidated:
                raise
        except BaseException:
            connection.close()
            raise
    with connection:
        yield connection


def _begin(connection: Connection, statements: str) -> None:
    """Begin a transaction in one round trip, and note the number of one that writes."""
    driver: Any = connection.connection.driver_connection
    try:
        cursor = driver.execute(statements, prepare=False)
        if cursor.nextset():
            connection.info["transaction"] = cursor.fetchone()[1]
    except psycopg.Error as error:
        lost = bool(driver.closed)
        if lost:
            connection.invalidate(error)
        raise OperationalError(statements, None, error, connection_invalidated=lost) from error


def _said(error: BaseException) -> str:
    """What the server or the driver says, without the statement and its second thoughts."""
    said = error.orig if isinstance(error, DBAPIError) else error
    return str(said).strip().partition("\n")[0]
