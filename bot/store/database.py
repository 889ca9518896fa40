"""The database: one writer thread that gathers what is waiting into one commit, and reader threads.

Nobody is answered before the commit that holds his work (docs/adr: group commit). What differs between SQLite and
PostgreSQL is behind `bot.store.backend`.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from sqlalchemy import Connection
from sqlmodel import Session

from bot.errors import Transient
from bot.store.backend import READERS, Backend
from bot.store.bell import Bell
from bot.store.refusing import Refusing

T = TypeVar("T")
#: called by the writer with the name of a work, right before the commit that holds it and right after, when nobody has
#: been told yet: where tests end the process
Failpoint = Callable[[Literal["before", "after"], str], None]
#: works gathered into one commit at most, so that the first of them does not wait for ever
GATHER = 256


@dataclass(slots=True)
class _Work(Generic[T]):
    run: Callable[[Session], T]
    done: asyncio.Future[T]
    loop: asyncio.AbstractEventLoop


def named_as(work: Callable[[Session], Any], around: Callable[[Session], T]) -> Callable[[Session], T]:
    """`around`, which does `work` and something beside it, under the name of `work` where a failpoint is told one."""
    around.__wrapped__ = work  # type: ignore[attr-defined]  # functools.wraps sets the same
    return around


def ring(session: Session, bell: str) -> None:
    """Ring `bell` when the work of this session is committed, in every process of the database."""
    session.info.setdefault("bells", set()).add(bell)


class Store:
    """Opened by `open_store`. `write` and `read` take a function of a session and may be called from any task."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._bells: defaultdict[str, Bell] = defaultdict(Bell)
        #: event loops that use it: where bells are waited for
        self._loops: set[asyncio.AbstractEventLoop] = set()
        self._works: queue.SimpleQueue[_Work[Any] | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store-read")
        self._refusing = Refusing()
        #: commits so far, for benchmarks and metrics
        self.commits = 0
        #: works in them
        self.works = 0
        #: times that the database refused a commit or a work: whoever believes that it takes writes has to look again
        self.refused = 0
        self.failpoint: Failpoint | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._write_loop, name="store-write", daemon=True)
        self._thread.start()
        backend.listen(self._heard, self._refusing)

    def bell(self, name: str) -> Bell:
        """The bell of that name: `delivery`, `queue`, `outbox`, `cancel`."""
        with suppress(RuntimeError):  # outside of a loop nobody waits for it
            self._loops.add(asyncio.get_running_loop())
        return self._bells[name]

    async def write(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a write transaction, committed when this returns. An exception undoes this work alone.

        A cancelled caller still gets its work done: the work has been handed over. Raises `Transient` where the
        database refuses (disk full, locked, out of reach) or is closed, and then nothing of the work is kept; `Unsure`
        where the store was closed before it was known whether it is.
        """
        loop = self._loop()
        done: asyncio.Future[T] = loop.create_future()
        self._works.put(_Work(work, done, loop))
        return await asyncio.shield(done)

    async def read(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a read transaction: one consistent view. Raises `Transient` as `write` does."""
        loop = self._loop()
        return await loop.run_in_executor(self._readers, self._read, work)

    def _loop(self) -> asyncio.AbstractEventLoop:
        """The caller's. Raises `Transient` where the store was closed: nobody would ever do the work."""
        if self._closed:
            raise Transient("the store is closed")
        loop = asyncio.get_running_loop()
        self._loops.add(loop)
        return loop

    def _read(self, work: Callable[[Session], T]) -> T:
        try:
            try:
                return self._look(work)
            except Exception as error:
                # a connection was lost: who only looks may look again
                if not self._backend.may_look_again(error):
                    raise
                return self._look(work)
        except Exception as error:
            refusal = self._backend.refusal(error)
            if refusal is None:
                raise
            self._refusing.refused("reads", str(refusal))
            raise refusal from error

    def _look(self, work: Callable[[Session], T]) -> T:
        # the session ends the transaction: with a savepoint in it every read would ask the server twice more
        with (
            self._backend.reading() as connection,
            Session(bind=connection, join_transaction_mode="control_fully", expire_on_commit=False) as session,
        ):
            value = work(session)
        self._refusing.answered("reads")
        return value

    async def close(self) -> None:
        """Finish what is waiting, then close every connection; whoever comes later is refused."""
        self._closed = True
        self._works.put(None)
        self._backend.stop()
        await asyncio.to_thread(self._thread.join)
        self._readers.shutdown()
        self._backend.close()

    @staticmethod
    def _session(connection: Connection, *, alone: bool) -> Session:
        """A work's own: what it did is undone without the others', by a savepoint where there are others."""
        mode: Literal["rollback_only", "create_savepoint"] = "rollback_only" if alone else "create_savepoint"
        return Session(bind=connection, join_transaction_mode=mode, expire_on_commit=False)

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
        refusals: list[Transient] = []
        alone = len(works) == 1
        try:
            with self._backend.writing(bells) as connection:
                for work in works:
                    try:
                        with self._session(connection, alone=alone) as session:
                            value = work.run(session)
                            if self._backend.is_broken(connection):
                                raise RuntimeError("a statement of this work failed, and it went on")
                            session.commit()
                            bells |= session.info.get("bells", set())
                        results.append((work, value, None))
                    except BaseException as error:
                        if alone or self._backend.ends_all(error):
                            raise
                        # whatever it is belongs to the caller, who awaits it
                        refusal = self._backend.refusal(error)
                        refusals += [refusal] if refusal is not None else []
                        results.append((work, None, refusal or _ordinary(error)))
                self._fail("before", works)
                answers = self._backend.has_written(connection)
            if answers and not refusals:
                self._refusing.answered("writes")
            self.commits += 1
            self.works += len(works)
            self._fail("after", works)
        except BaseException as error:  # noqa: BLE001  # the commit failed (disk full, locked): every caller must hear
            refusal = self._backend.refusal(error)
            refusals = [refusal] if refusal is not None else []
            heard = refusal or _ordinary(error)
            results = [(work, None, heard) for work in works]
            bells = set()
        if refusals:
            self.refused += 1
            self._refusing.refused("writes", str(refusals[0]))
        for loop in {work.loop for work in works}:
            mine = [r for r in results if r[0].loop is loop]
            with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
                loop.call_soon_threadsafe(self._tell, mine, bells)

    def _fail(self, when: Literal["before", "after"], works: list[_Work[Any]]) -> None:
        if self.failpoint is not None:
            for work in works:
                self.failpoint(when, _name(work.run))

    def _tell(self, results: list[tuple[_Work[Any], Any, BaseException | None]], bells: Set[str]) -> None:
        for work, value, error in results:
            if work.done.done():
                continue
            if error is None:
                work.done.set_result(value)
            else:
                work.done.set_exception(error)
        self._ring(bells)

    def _heard(self, bells: Set[str] | None) -> None:
        """Another process rang. Called in the thread that listens."""
        for loop in tuple(self._loops):
            try:
                loop.call_soon_threadsafe(self._ring, bells)
            except RuntimeError:  # it is closed
                self._loops.discard(loop)

    def _ring(self, bells: Set[str] | None) -> None:
        for name in tuple(self._bells) if bells is None else bells:
            self._bells[name].ring()


def _ordinary(error: BaseException) -> Exception:
    """What a caller is told. What would end a thread (a library's panic) ends neither the writer nor his task."""
    if isinstance(error, Exception):
        return error
    told = RuntimeError(f"a work ended with {type(error).__name__}: {error}")
    told.__cause__ = error
    return told


def _name(work: Callable[..., Any]) -> str:
    """The function that a work was made in, or is; of one that goes round another (`named_as`) that of the other."""
    while (inner := work.func if isinstance(work, partial) else getattr(work, "__wrapped__", None)) is not None:
        work = inner
    return getattr(work, "__qualname__", type(work).__qualname__).partition(".<locals>")[0]
