"""The loop that does what the outbox holds: once per slot, in order, at GitHub's pace (see `bot.publish.sending`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from bot import log
from bot.errors import Transient
from bot.model.clock import Clock
from bot.model.state import OutboxState
from bot.publish.pace import Pace
from bot.publish.performer import Performer
from bot.publish.sending import PAUSE, Sending
from bot.publish.set_aside import set_aside
from bot.store import Session, Store, doubt, outbox
from bot.store.outbox import Saying
from bot.store.turn import ELSEWHERE, is_new

_log = log.get("publish")

#: seconds after sending at which what got no answer is looked for; after the last it is done again
LOOKS = (5.0, 30.0, 90.0)
#: calls under way at once
AT_ONCE = 16
#: seconds between two looks at what dead processes were sending
DEAD_EVERY = 2.5
#: seconds that calls under way get to end when sending stops
FINISH = 3.0


class Sender:
    """Sends the outbox, one process at a time. `owner` names this one: what a dead one was sending is unsure.

    `performers` say by action how it is done (see `Comments`, `ThreadActions`, `Hooks`). `duty` is the store through
    which rows are claimed and given up: it refuses where another process sends by now. What became of a call is
    recorded all the same. `away`: the seconds for which GitHub is not asked for anything, because it does not answer;
    what goes there stays as it is.
    """

    def __init__(
        self,
        store: Store,
        performers: Mapping[str, Performer],
        clock: Clock,
        *,
        owner: str,
        pace: Pace | None = None,
        looks: Sequence[float] = LOOKS,
        at_once: int = AT_ONCE,
        duty: Store | None = None,
        away: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._store = store
        self._duty = duty or store
        self._clock = clock
        self._owner = owner
        self._pace = pace or Pace()
        self._looks = tuple(looks)
        self._sending = Sending(store, performers, clock, self._pace, owner=owner, looks=self._looks, duty=self._duty)
        self._away = away
        self._places = asyncio.Semaphore(at_once)
        self._at_once = at_once
        self._looking: set[str] = set()
        #: rows over which a process has ended, perhaps: nothing goes beside them
        self._suspects: set[str] = set()
        self._finding = asyncio.Lock()
        #: until when the pace lets nothing (False) or nothing new (True) of an installation go
        self._paced: dict[tuple[int, bool], datetime] = {}
        #: when that was last looked at: where the clock was set back since, it is asked for again
        self._paced_at = clock.now()

    async def recover(self) -> None:
        """What dead processes were sending has to be looked for."""
        if await self._store.read(lambda session: doubt.orphans(session, self._owner)):
            left = await self._duty.write(self._recover)
            self._suspects |= set(left.suspects)

    def _recover(self, session: Session) -> doubt.Left:
        left = doubt.recover(session, self._owner, self._look_at())
        for saying in left.aside:
            set_aside(session, saying, self._clock.now())
        return left

    def _look_at(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self._looks[0])

    async def run(self) -> None:
        """Send until cancelled; then let what is under way end. Raises `Lost` where another process sends by now."""
        bell = self._store.bell("outbox")
        under_way: set[asyncio.Task[None]] = set()

        def start(work: Coroutine[None, None, None]) -> None:
            task = asyncio.create_task(work)
            under_way.add(task)
            task.add_done_callback(ended)

        def ended(task: asyncio.Task[None]) -> None:
            if task.cancelled() or task.exception() is None:
                under_way.discard(task)
            else:
                bell.ring()  # a bug of ours: found below, and told by whoever watches this loop

        recovering = asyncio.create_task(self._recover_on())
        under_way.add(recovering)
        recovering.add_done_callback(ended)
        try:
            while True:
                seen = bell.count
                try:
                    _, at = await self._spread(start)
                except Transient:  # the store says so
                    await self._clock.sleep(PAUSE)
                    continue
                for task in [task for task in under_way if task.done()]:
                    task.result()
                await bell.wait(seen, None if at is None else max(0.05, (at - self._clock.now()).total_seconds()))
        finally:
            recovering.cancel()
            await self._finish(under_way)

    async def _recover_on(self) -> None:
        while True:
            with suppress(Transient):  # the store says so
                await self.recover()
            # by real time, as the database's is by which processes die
            await asyncio.sleep(DEAD_EVERY)

    async def _finish(self, under_way: set[asyncio.Task[None]]) -> None:
        """What has left must be recorded; what hangs is for whoever sends next to look for."""
        left = set(under_way)
        if left:
            await asyncio.wait(left, timeout=FINISH)
            for task in left:
                task.cancel()
            await asyncio.wait(left)
        with suppress(Transient):  # where nobody can write, a dead process's rows are found by whoever can
            await self._store.write(lambda session: doubt.leave(session, self._owner, self._look_at()))

    def _wakes(self, due: datetime | None, after: datetime) -> datetime | None:
        """When there is something to do that had to wait at `after`, None where nothing waits for a time. `due` is the
        earliest time of a row behind `after`, as of then: whatever changes one later rings.
        """
        # one whose time was over by then held nothing up: whoever claims forgets it, and nobody did
        times = [until for until in self._paced.values() if until > after]
        times += [due] if due is not None else []
        if (seconds := self._away()) > 0:
            times.append(self._clock.now() + timedelta(seconds=seconds))
        return min(times, default=None)

    async def sweep(self) -> datetime | None:
        """Do everything that is due now, and what follows from it; returns when there is something that had to wait."""
        while True:
            async with asyncio.TaskGroup() as group:
                started, at = await self._spread(group.create_task)
                if not started:
                    return at

    async def _spread(self, start: Callable[[Coroutine[None, None, None]], object]) -> tuple[int, datetime | None]:
        """Start a task for everything that is due; returns how many, and when there is something that had to wait."""
        started = 0
        now = self._clock.now()
        async with self._finding:
            busy = set(self._looking)  # a look that ends while we read makes what we read old
            unsure, pending, due = await self._store.read(lambda session: self._due(session, now))
            for saying in unsure:
                row_id = saying.row.id
                if row_id not in busy:
                    self._looking.add(row_id)
                    await self._places.acquire()
                    look = self._placed(self._sending.look(row_id), row_id)
                    await self._begin(start, look, alone=row_id in self._suspects)
                    started += 1
        while pending:
            places = await self._free()
            claimed: list[Saying] = []
            try:
                claimed = await self._duty.write(partial(self._claim, most=places))
            finally:
                for _ in range(places - len(claimed)):
                    self._places.release()
            alone = bool(claimed) and claimed[-1].row.id in self._suspects
            for saying in claimed:
                row_id = saying.row.id
                await self._begin(start, self._placed(self._sending.send(saying)), alone=row_id in self._suspects)
                # only now: a look that did not find it is followed by this, which may be what ends processes
                self._suspects.discard(row_id)
            started += len(claimed)
            # whoever got fewer than there was room for has all of them, or the last one went alone
            pending = len(claimed) == places or alone
        return started, self._wakes(due, now)

    def _due(self, session: Session, now: datetime) -> tuple[list[Saying], bool, datetime | None]:
        """What has to be looked for now (nothing while GitHub does not answer), whether something may be sent, and when
        the next is due.
        """
        unsure = [] if self._away() > 0 else doubt.due_unsure(session, now)
        return unsure, outbox.any_due(session, now), outbox.next_due(session, now)

    async def _free(self) -> int:
        """Take every place that is free, one at least."""
        await self._places.acquire()
        places = 1
        while not self._places.locked():
            await self._places.acquire()
            places += 1
        return places

    async def _begin(
        self, start: Callable[[Coroutine[None, None, None]], object], work: Coroutine[None, None, None], *, alone: bool
    ) -> None:
        """Start it beside the others; or do it here and alone, where a process may have ended over it."""
        if not alone:
            start(work)
            return
        others = 0
        try:
            while others < self._at_once - 1:
                await self._places.acquire()
                others += 1
            await work
        finally:
            work.close()
            for _ in range(others):
                self._places.release()

    async def _placed(self, work: Coroutine[None, None, None], looked_for: str = "") -> None:
        try:
            await work
        finally:
            self._places.release()
            if looked_for:
                self._looking.discard(looked_for)
                # our webhook may have asked for another look meanwhile, which nobody began beside this one
                self._store.bell("outbox").ring()

    def _claim(self, session: Session, most: int) -> list[Saying]:
        """The next rows that the pace lets go, `most` at most; one over which a process may have ended is the last.

        Of what the pace does not let go, the rows stay as they are, however many.
        """
        now = self._clock.now()
        gone_back, self._paced_at = now < self._paced_at, now
        self._paced = {key: until for key, until in self._paced.items() if until > now and not gone_back}
        claimed: list[Saying] = []
        while (places := most - len(claimed)) > 0:
            silent = [installation for installation, new in self._paced if not new]
            no_content = [installation for installation, new in self._paced if new]
            found = outbox.following(session, now, places, silent=silent, no_content=no_content, away=self._away() > 0)
            for saying in found:
                if self._taken(session, saying, now):
                    claimed.append(saying)
                    if saying.row.id in self._suspects:
                        return claimed
            # what was dropped held back others, and what the pace holds back had others behind it
            if len(found) < places and not any(saying.row.state is OutboxState.DROPPED for saying in found):
                break
        return claimed

    def _taken(self, session: Session, saying: Saying, now: datetime) -> bool:
        """Take a row whose turn it is, unless the pace holds it back; or drop what has no place to go to any more."""
        row, thread = saying.row, saying.thread
        if row.action in ELSEWHERE:
            outbox.take(session, row, self._owner, now)
            return True
        if thread.gone and row.action != "pull_request":
            outbox.take(session, row, self._owner, now)
            outbox.drop(session, row.id, thread.gone)
            return False
        new, installation = is_new(row), thread.installation_id
        wait = self._pace.take(session, installation, creates=row.id if new else None, now=now)
        if wait > 0:
            self._paced[installation, new] = now + timedelta(seconds=wait)
            return False
        outbox.take(session, row, self._owner, now)
        return True
