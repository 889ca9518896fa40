"""Workers: each holds one run at a time and drives it from outcome to outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol, TypeVar

from bot import log, publish
from bot.engine import commit
from bot.engine.commit import Advance, Begun, Performed, Say, Terms
from bot.engine.graph import End
from bot.errors import BotError, Lost, Transient, UserError
from bot.model.clock import Clock
from bot.model.outcome import Failed
from bot.queue import Queue
from bot.store import Session, Store, leases, runs
from bot.store.bell import LONGEST
from bot.store.fence import FencedStore
from bot.store.runs import RunRows
from bot.store.tables import Run

_log = log.get("engine")

#: seconds between two looks at what became of other processes, and of what is held here
LOOK = 2.5
#: looks between two sweeps of this machine's disk: runs that went elsewhere end there
SWEEP = 240
#: seconds at most between two tries where the database refuses
LONGEST_PAUSE = 30.0
#: seconds that one transaction goes on with what needs nobody's work: nobody else can write meanwhile
HOLD = 0.5

T = TypeVar("T")


class Desk(Protocol):
    """What a worker needs of the rest of the engine."""

    async def terms(self, rows: RunRows) -> Terms:
        """What this run is bound by. Raises `UserError` where its configuration cannot be used."""
        ...

    async def admit(self, rows: RunRows) -> End | None:
        """Why the run must not start after all; None if it may. Raises `Transient` where nobody can tell now."""
        ...

    async def give(self, rows: RunRows, terms: Terms) -> End | None:
        """Have the run's files fetched and kept; the end where one does not do. Raises `Transient` as `admit` does."""
        ...

    async def perform(self, begun: Begun, terms: Terms) -> Performed:
        """Do the step. Raises nothing but cancellation."""
        ...

    async def noted(self, run_id: str, terms: Terms) -> None:
        """The run has gone on: let its steps see how it stands."""
        ...

    async def clear(self, run_id: str) -> None:
        """Remove what an ended run left on this machine's disk."""
        ...

    async def sweep(self) -> None:
        """The same for every run that ended while this process was not there to do it."""
        ...

    def say(self, session: Session, rows: RunRows, end: End) -> None:
        """Put what is said at a run's end into the outbox."""
        ...

    def say_plainly(self, session: Session, rows: RunRows, end: End) -> None:
        """The same in one fixed sentence, for when that broke."""
        ...


class Workers:
    """`count` workers on a queue, the look at other processes, and the watch for cancellations.

    Whatever is written for a run is written only while this process holds it: one that was stopped for a while finds
    its runs with others, and lets go of them.
    """

    def __init__(self, store: Store, queue: Queue, desk: Desk, clock: Clock, count: int) -> None:
        self._store, self._queue, self._desk, self._clock = store, queue, desk, clock
        self._count = count
        self._held: dict[str, asyncio.Task[None]] = {}
        self._called_off: set[str] = set()
        #: those at runs that others hold by now
        self._lost: set[asyncio.Task[None]] = set()
        #: since when GitHub does not tell whether a run may start or go on
        self._faulty: dict[str, datetime] = {}

    async def run(self) -> None:
        """Work until cancelled; then hand back what is held."""
        await self._patiently(self._queue.recover)
        await self._patiently(self._desk.sweep)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look())
            group.create_task(self._watch())
            for _ in range(self._count):
                group.create_task(self._work())

    @property
    def held(self) -> int:
        """Runs being worked on now."""
        return len(self._held)

    async def _look(self) -> None:
        looks = 0
        while True:
            await self._clock.sleep(LOOK)
            await self._patiently(self._queue.recover)
            if self._held:
                for run_id in await self._patiently(self._queue.lost):
                    self._let_go(run_id)
            looks += 1
            if looks % SWEEP == 0:
                await self._patiently(self._desk.sweep)

    def _let_go(self, run_id: str) -> None:
        task = self._held.get(run_id)
        if task is not None and task not in self._lost:
            self._lost.add(task)
            task.cancel()

    async def _watch(self) -> None:
        bell = self._store.bell("cancel")
        while True:
            seen = bell.count
            for run_id in await self._patiently(lambda: self._store.read(self._asked_to_cancel)):
                task = self._held.get(run_id)
                if task is not None and run_id not in self._called_off:
                    self._called_off.add(run_id)
                    task.cancel()
            await bell.wait(seen)

    def _asked_to_cancel(self, session: Session) -> list[str]:
        return runs.cancelled(session, self._queue.owner)

    async def _work(self) -> None:
        while True:
            run_id = await self._patiently(self._queue.claim)
            await self._without(run_id)
            task = asyncio.create_task(self._hold(run_id), name=f"run {run_id}")
            # from here on a cancellation finds it; who asked for one before is seen when its rows are read
            self._held[run_id] = task
            try:
                await task
            except asyncio.CancelledError:
                if not _stopping() and task not in self._lost:
                    # called off before its first line ran, so nobody recorded it
                    await self._abandon(run_id, cancelled=True)
            finally:
                self._lost.discard(task)
                if self._held.get(run_id) is task:
                    del self._held[run_id]
                    self._called_off.discard(run_id)
            if _stopping():
                raise asyncio.CancelledError

    async def _without(self, run_id: str) -> None:
        """Somebody here may still be at a run that was lost and has come back: he leaves before it begins again."""
        task = self._held.get(run_id)
        if task is not None:
            self._let_go(run_id)
            await asyncio.wait([task])

    async def _hold(self, run_id: str) -> None:
        await self._cleared(run_id, await self._held_to_its_end(run_id))

    async def _held_to_its_end(self, run_id: str) -> Run | None:
        """Drive it as far as it goes. The run where that was its end; None where that has to be looked up."""
        try:
            return await self._drive(run_id)
        except asyncio.CancelledError:
            if asyncio.current_task() in self._lost:
                _log.warning("run_lost", run=run_id)
                raise
            called_off = run_id in self._called_off
            await self._abandon(run_id, cancelled=called_off)
            if not called_off:
                raise
        except Lost:
            _log.warning("run_lost", run=run_id)
        except Transient as error:
            await self._postpone(run_id, error)
        except Exception as error:  # noqa: BLE001  # whatever it was, the run must end and say so
            if not isinstance(error, BotError):
                _log.exception("run_crashed", run=run_id)
            await self._fail(run_id, _failure(error))
        return None

    async def _postpone(self, run_id: str, error: Transient) -> None:
        now = self._clock.now()
        since = self._faulty.setdefault(run_id, now)
        with suppress(Lost):
            await self._write(
                run_id, lambda session: commit.postpone(session, run_id, error, self._desk.say, now, since)
            )

    async def _fail(self, run_id: str, failure: Failed) -> None:
        """End a run that broke; where even saying so breaks, in a form that cannot."""

        def work(say: Say) -> Callable[[Session], None]:
            return lambda session: commit.fail(session, run_id, failure, say, self._clock.now())

        with suppress(Lost):
            try:
                await self._write(run_id, work(self._desk.say))
            except Lost:
                raise
            except Exception:  # noqa: BLE001  # a worker lost, or a run held for ever, helps nobody
                _log.exception("end_not_said", run=run_id)
                await self._write(run_id, work(self._desk.say_plainly))

    async def _cleared(self, run_id: str, over: Run | None) -> None:
        run = over or await self._patiently(lambda: self._store.read(lambda session: runs.get(session, run_id)))
        if run is None or run.state.ended:
            _log.info("run", run=run_id, state=None if run is None else str(run.state), reason=run and run.reason)
            self._faulty.pop(run_id, None)
            await self._desk.clear(run_id)

    async def _drive(self, run_id: str) -> Run | None:
        rows = await self._store.read(lambda session: runs.rows(session, run_id))
        dispatch = rows.dispatch
        _log.info("run", run=run_id, state=str(rows.run.state), dispatch=dispatch.id, delivery=dispatch.delivery_id)
        if rows.run.cancelled_by:
            await self._abandon(run_id, cancelled=True)
            return None
        terms = await self._desk.terms(rows)
        end = await self._desk.admit(rows) or await self._desk.give(rows, terms)
        self._faulty.pop(run_id, None)
        if end is not None:
            await self._write(
                run_id, lambda session: commit.refuse(session, run_id, end, self._desk.say, self._clock.now())
            )
            return None
        return await self._side_by_side(run_id, terms)

    async def _side_by_side(self, run_id: str, terms: Terms) -> Run | None:
        """Perform what may run at once; what an end leads to joins in, and so does what waited for a time or answer.

        The run where it has ended.
        """
        bell = self._store.bell("answers")
        # what rings while it is looked is looked at again
        alarm = asyncio.create_task(bell.wait(bell.count))
        tasks: set[asyncio.Task[Any]] = set()
        try:
            advance = await self._advance(run_id, terms)
            while advance.begun or tasks or advance.more:
                tasks |= {asyncio.create_task(self._one(begun, terms)) for begun in advance.begun}
                pause = 0.0 if advance.more else self._until(advance.wake)
                done, _ = await asyncio.wait({*tasks, alarm}, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                tasks -= done
                advances = [task.result() for task in done if task is not alarm]
                if alarm in done or not done or advance.more:
                    if alarm in done:
                        alarm = asyncio.create_task(bell.wait(bell.count))
                    advances.append(await self._advance(run_id, terms))
                else:
                    # what ended may have been recorded before the look that said when to look again
                    advances.append(Advance(wake=advance.wake))
                advance = Advance.together(advances)
                await self._desk.noted(run_id, terms)
        finally:
            await _stopped([*tasks, alarm])
        return advance.over

    def _until(self, wake: datetime | None) -> float | None:
        return None if wake is None else min(LONGEST, max(0.0, (wake - self._clock.now()).total_seconds()))

    async def _one(self, begun: Begun, terms: Terms) -> Advance:
        performed = await self._desk.perform(begun, terms)
        advance = await self._record(begun, performed, terms)
        attempt = begun.attempt
        outcome = type(performed.outcome).__name__.lower()
        _log.info("step", run=attempt.run_id, attempt=attempt.id, step=attempt.step, outcome=outcome)
        return advance

    async def _advance(self, run_id: str, terms: Terms) -> Advance:
        return await self._write(
            run_id, lambda session: commit.advance(session, run_id, terms, self._clock.now(), HOLD)
        )

    async def _record(self, begun: Begun, performed: Performed, terms: Terms) -> Advance:
        return await self._write(
            begun.attempt.run_id,
            lambda session: commit.record(session, begun, performed, terms, self._clock.now(), HOLD),
        )

    async def _abandon(self, run_id: str, *, cancelled: bool) -> None:
        with suppress(Lost):
            await self._write(
                run_id,
                lambda session: commit.abandon(session, run_id, self._desk.say, self._clock.now(), cancelled=cancelled),
            )

    async def _write(self, run_id: str, work: Callable[[Session], T]) -> T:
        """Write for a run that is held here. Raises `Lost` where it no longer is."""
        owner = self._queue.owner
        store = FencedStore(self._store, lambda session: leases.held(session, run_id, owner), f"the run {run_id}")
        return await self._patiently(lambda: publish.write(store, work))

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Use the database until it lets us: a disk that is full for a while must cost no outcome and no worker."""
        pause = 1.0
        while True:
            try:
                return await call()
            except Transient:  # the store says so
                await self._clock.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)


async def _stopped(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel what is left and wait for it; what it raises on the way out is the cancellation's."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()


def _stopping() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failure(error: Exception) -> Failed:
    if isinstance(error, UserError):
        return Failed(error.code, error.message, error.hint, stderr=error.detail)
    return Failed(
        "internal_error", f"the bot itself failed ({type(error).__name__})", "its operator finds it in the log"
    )
