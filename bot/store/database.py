"""The database: one writer thread that gathers what is waiting into one commit, and reader threads.

SQLite: WAL, `synchronous=FULL`, `BEGIN IMMEDIATE` for every write, a busy timeout. Nobody is answered before the commit
that holds his work (docs/adr: group commit).
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import QueuePool
from sqlmodel import Session

from bot import log
from bot.errors import OperatorError, Transient
from bot.model.ident import sort_behind
from bot.store.bell import Bell
from bot.store.folder import make_folder
from bot.store.migrate import migrate

_log = log.get("store")

T = TypeVar("T")
#: called by the writer with the name of a work, right before the commit that holds it and right after, when nobody has
#: been told yet: where tests end the process
Failpoint = Callable[[Literal["before", "after"], str], None]
#: works gathered into one commit at most, so that the first of them does not wait for ever
GATHER = 256
#: how long a write waits for another process that holds the database. GitHub gives up on a delivery after 10 s, and one
#: may come while those before it wait: its 503 comes before that
BUSY_MS = 4_000
READERS = 4


@dataclass(slots=True)
class _Work(Generic[T]):
    run: Callable[[Session], T]
    done: asyncio.Future[T]
    loop: asyncio.AbstractEventLoop


def ring(session: Session, bell: str) -> None:
    """Ring `bell` when the work of this session is committed."""
    session.info.setdefault("bells", set()).add(bell)


class Store:
    """Opened by `open_store`. `write` and `read` take a function of a session and may be called from any task."""

    def __init__(self, writer: Engine, reader: Engine) -> None:
        self._writer = writer
        self._reader = reader
        self._bells: defaultdict[str, Bell] = defaultdict(Bell)
        self._works: queue.SimpleQueue[_Work[Any] | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store-read")
        self._thread = threading.Thread(target=self._write_loop, name="store-write", daemon=True)
        self._thread.start()
        #: commits so far, for benchmarks and metrics
        self.commits = 0
        self.failpoint: Failpoint | None = None

    def bell(self, name: str) -> Bell:
        """The bell of that name: `delivery`, `queue`, `outbox`, `cancel`."""
        return self._bells[name]

    async def write(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a write transaction, committed when this returns. An exception undoes this work alone.

        A cancelled caller still gets its work done: the work has been handed over. Raises `Transient` where the disk
        refuses (full, locked).
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._works.put(_Work(work, done, loop))
        return await asyncio.shield(done)

    async def read(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a read transaction: one consistent view. Raises `Transient` as `write` does."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    def _read(self, work: Callable[[Session], T]) -> T:
        try:
            with self._reader.connect() as connection, connection.begin(), self._session(connection) as session:
                return work(session)
        except OperationalError as error:
            raise _refusal(error) from error

    async def close(self) -> None:
        """Finish what is waiting, then close every connection."""
        self._works.put(None)
        await asyncio.to_thread(self._thread.join)
        self._readers.shutdown()
        self._writer.dispose()
        self._reader.dispose()

    @staticmethod
    def _session(connection: Connection) -> Session:
        return Session(bind=connection, join_transaction_mode="create_savepoint", expire_on_commit=False)

    def _write_loop(self) -> None:
        open_ = True
        while open_:
            works: list[_Work[Any]] = []
            first = self._works.get()
            if first is None:
                break
            works.append(first)
            with suppress(queue.Empty):
                while len(works) < GATHER:
                    following = self._works.get_nowait()
                    if following is None:
                        open_ = False
                        break
                    works.append(following)
            self._commit(works)

    def _commit(self, works: list[_Work[Any]]) -> None:
        results: list[tuple[_Work[Any], Any, BaseException | None]] = []
        bells: set[str] = set()
        try:
            with self._writer.connect() as connection, connection.begin():
                for work in works:
                    try:
                        with self._session(connection) as session:
                            value = work.run(session)
                            session.commit()
                            bells |= session.info.get("bells", set())
                        results.append((work, value, None))
                    except OperationalError:
                        raise
                    except Exception as error:  # noqa: BLE001  # whatever it is belongs to the caller, who awaits it
                        results.append((work, None, error))
                self._fail("before", works)
            self.commits += 1
            self._fail("after", works)
        except Exception as error:  # noqa: BLE001  # the commit failed (disk full, locked): every caller must hear of it
            heard = _refusal(error) if isinstance(error, OperationalError) else error
            results = [(work, None, heard) for work in works]
            bells = set()
        for loop in {work.loop for work in works}:
            mine = [r for r in results if r[0].loop is loop]
            with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
                loop.call_soon_threadsafe(self._tell, mine, bells)

    def _fail(self, when: Literal["before", "after"], works: list[_Work[Any]]) -> None:
        if self.failpoint is not None:
            for work in works:
                self.failpoint(when, _name(work.run))

    def _tell(self, results: list[tuple[_Work[Any], Any, BaseException | None]], bells: set[str]) -> None:
        for work, value, error in results:
            if work.done.done():
                continue
            if error is None:
                work.done.set_result(value)
            else:
                work.done.set_exception(error)
        for name in bells:
            self._bells[name].ring()


def _name(work: Callable[[Session], Any]) -> str:
    """The function that a work was made in, or is."""
    return getattr(work, "__qualname__", type(work).__qualname__).partition(".<locals>")[0]


def _refusal(error: OperationalError) -> Transient:
    return Transient(f"the database refuses: {error.orig}")


def open_store(url: str) -> Store:
    """Open (and migrate) the database at `url` (`sqlite:///path`). Raises `OperatorError` where that cannot be."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        raise OperatorError(
            f"BOT_DATABASE_URL: {parsed.get_backend_name()} is not served yet",
            "use sqlite:///<path> (or leave it unset: a file in BOT_DATA_DIR)",
        )
    make_folder(Path(parsed.database).parent)
    writer = create_engine(parsed, poolclass=QueuePool, pool_size=1, max_overflow=0)
    reader = create_engine(parsed, poolclass=QueuePool, pool_size=READERS, max_overflow=0)
    _prepare_sqlite(writer, "BEGIN IMMEDIATE", query_only=False)
    _prepare_sqlite(reader, "BEGIN", query_only=True)
    try:
        migrate(writer)
        _continue_ids(writer)
    except OperationalError as error:
        writer.dispose()
        raise OperatorError(
            f"cannot open {parsed.database}: {error.orig}", "check BOT_DATA_DIR and its disk"
        ) from error
    return Store(writer, reader)


def _continue_ids(writer: Engine) -> None:
    """A run walks on from its newest attempt, also where the clock was set back between two processes."""
    with writer.connect() as connection, connection.begin():
        for table in ("attempt", "value"):
            newest = connection.execute(text(f"SELECT max(id) FROM {table}")).scalar()  # noqa: S608  # names of ours
            if newest is not None:
                sort_behind(newest)


def _prepare_sqlite(engine: Engine, begin: str, *, query_only: bool) -> None:
    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        cursor = connection.cursor()
        for pragma in (
            f"busy_timeout={BUSY_MS}",
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            f"query_only={'ON' if query_only else 'OFF'}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        connection.execute(text(begin))
