"""What is done beside the work: texts whose time is over go, deleted comments and what is to be forgotten go at once.

Everything is done by handfuls of rows (`store.sweep`), noted where it is under way, and may be done again: a process
that ends leaves nothing half done that the next does not finish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from bot import log
from bot.errors import Transient
from bot.model.clock import Clock
from bot.store import Session, Store, blobs, forget_person, forget_repository, forgetting, purging, retention
from bot.store.forgetting import Forgotten
from bot.store.sweep import Page, Sweeper
from bot.store.tables import Landmark

_log = log.get("engine")

#: the landmark of the last time that everything was looked through
KEPT = "retention"
EVERY = timedelta(days=1)
#: seconds between looks where nothing rings
LOOK = 60.0
#: seconds between looks while something is to go at the end of a run
SOON = 5.0
#: seconds before another try where the database refuses
PAUSE = 10.0


class Upkeep:
    """Keeps the house of one database. `keep_days` is `BOT_KEEP_DAYS`. One process at a time runs it; what a command
    does meanwhile (`forget`) is not in its way.
    """

    def __init__(self, store: Store, clock: Clock, keep_days: int, sweeper: Sweeper | None = None) -> None:
        self._store = store
        self._clock = clock
        self._keep = timedelta(days=keep_days)
        self._sweeper = sweeper or Sweeper(store, clock)
        #: by landmark: runs that what is to be forgotten waited for when it was last looked at
        self._left: dict[str, int] = {}

    async def run(self) -> None:
        """Go on until cancelled: at the start, once a day, and whenever something is to go at once."""
        bell = self._store.bell(purging.BELL)
        while True:
            seen = bell.count
            try:
                waits = await self.look()
            except Transient:  # the store says so
                await self._clock.sleep(PAUSE)
                continue
            await bell.wait(seen, SOON if waits else LOOK)

    async def look(self) -> bool:
        """Do what is due; whether something waits for the end of a run."""
        await self._finish()
        waits = await self.deleted()
        for what in await self._store.read(forgetting.asked):
            waits = not await self._forget_again(what) or waits
        if await self._store.read(self._is_due):
            await self.retain()
        return waits

    def _is_due(self, session: Session) -> bool:
        last = session.get(Landmark, KEPT)
        # one in the future was noted by a clock that was set back
        return last is None or abs(self._clock.now() - last.at) >= EVERY

    # -- what goes by itself -------------------------------------------------------------------------------------------

    async def retain(self) -> dict[str, int]:
        """Let go whatever has had its time; how many rows of each table that came to."""
        now = self._clock.now()
        before = now - self._keep
        gone: dict[str, int] = {}
        while run_ids := await self._store.read(lambda session: purging.due(session, before)):
            if not await self._purge(run_ids):
                break
            gone["run"] = gone.get("run", 0) + len(run_ids)
        for sweep in retention.sweeps(now, self._keep):
            gone[sweep.name] = gone.get(sweep.name, 0) + await self._sweeper.sweep(sweep)
        for number in await self._store.read(lambda session: retention.removed_repositories(session, before)):
            await self._store.write(_asking(Forgotten("repository", number, str(number), before)))
        gone["blob"] = await self._unused()
        told = {name: count for name, count in gone.items() if count}
        await self._store.write(lambda session: session.merge(Landmark(name=KEPT, at=now, detail=told)))
        _log.info("kept", **told)
        return told

    async def _purge(self, run_ids: Sequence[str]) -> Sequence[str]:
        """Take the bytes of runs; those that it was, as one may not have ended."""
        now = self._clock.now()
        marked = await self._store.write(lambda session: purging.mark(session, run_ids, now))
        await self._sweep_runs(marked)
        return marked

    async def _sweep_runs(self, run_ids: Sequence[str]) -> None:
        for sweep in purging.bytes_of(run_ids):
            await self._sweeper.sweep(sweep)
        now = self._clock.now()
        await self._store.write(lambda session: purging.through(session, run_ids, now))

    async def _finish(self) -> None:
        """Go on with runs that a process before left marked and not through."""
        left = await self._store.read(purging.marked)
        for place in range(0, len(left), purging.BATCH):
            await self._sweep_runs(left[place : place + purging.BATCH])

    async def _unused(self) -> int:
        """Delete the bytes that nothing refers to."""
        now = self._clock.now()
        number = await self._store.write(lambda session: blobs.begin(session, now))
        return await self._sweeper.sweep(blobs.unused(await blobs.used(self._store), number))

    # -- what goes at once ---------------------------------------------------------------------------------------------

    async def deleted(self) -> bool:
        """Take the bytes of ended runs that read a comment which was deleted; whether others have not ended yet."""
        gone = False
        while True:
            ready, waits = await self._store.read(purging.flagged)
            if not ready:
                break
            for run_id in ready:
                saw = await self._store.read(_seeing(run_id))
                if saw:
                    await self._store.write(_words(run_id))
                    await self._purge([run_id])
                    gone = True
                else:
                    await self._store.write(_unflagging(run_id))
        if gone:
            await self._unused()
        return waits

    async def _forget_again(self, what: Forgotten) -> bool:
        """Go on with what somebody asked for, where a run has ended since the last time, or it is the first."""
        # whoever asked may be another process, whose bells are not heard here
        self._store.bell("cancel").ring()
        left = await self._store.read(_leaving(what))
        if left and self._left.get(what.landmark) == left:
            return False
        self._left[what.landmark] = left
        return await self.forget(what)

    async def forget(self, what: Forgotten) -> bool:
        """Forget a repository or a person; False where a run under way has to end before the rest can go."""
        take = self._forget_repository if what.kind == "repository" else self._forget_person
        # what ended meanwhile was looked at too early
        while left := await take(what):
            if await self._store.read(_leaving(what)) >= left:
                break
        await self._unused()
        if left:
            return False
        await self._store.write(_settling(what))
        _log.info("forgotten", what=what.kind, id=what.id)
        return True

    async def _forget_repository(self, what: Forgotten) -> int:
        """Take what is not under way; how much was when this began."""
        now = self._clock.now()
        while await self._store.write(_calling_off(what, now)):
            pass
        left = await self._store.read(_leaving(what))
        while run_ids := await self._store.read(lambda session: forget_repository.ended(session, what)):
            # from here on nobody takes them over
            await self._store.write(_marking(run_ids, now))
            for sweep in forget_repository.rows_of(run_ids):
                await self._sweeper.sweep(sweep)
            await self._store.write(_through(run_ids, now))
        for sweep in forget_repository.rest_of(what):
            await self._sweeper.sweep(sweep)
        return left

    async def _forget_person(self, what: Forgotten) -> int:
        """The same."""
        left, busy = await self._store.read(_looking(what))
        after: str | None = ""
        while after is not None:
            page = await self._store.read(_page(what, after))
            if page.due:
                await self._purge(page.due)
            after = page.last
        for sweep in forget_person.sweeps(what, busy):
            await self._sweeper.sweep(sweep)
        return left


# what is written, named after what it does: `Store.failpoint` tells them apart


def _asking(what: Forgotten) -> Callable[[Session], None]:
    return lambda session: forgetting.ask(session, what)


def _settling(what: Forgotten) -> Callable[[Session], None]:
    return lambda session: forgetting.settle(session, what)


def _calling_off(what: Forgotten, now: datetime) -> Callable[[Session], int]:
    return lambda session: forget_repository.call_off(session, what, now)


def _marking(run_ids: Sequence[str], now: datetime) -> Callable[[Session], list[str]]:
    return lambda session: purging.mark(session, run_ids, now)


def _through(run_ids: Sequence[str], now: datetime) -> Callable[[Session], None]:
    return lambda session: purging.through(session, run_ids, now)


def _seeing(run_id: str) -> Callable[[Session], bool]:
    return lambda session: purging.saw(session, run_id)


def _words(run_id: str) -> Callable[[Session], None]:
    return lambda session: purging.words_at_end(session, run_id)


def _unflagging(run_id: str) -> Callable[[Session], None]:
    return lambda session: purging.unflag(session, [run_id])


def _leaving(what: Forgotten) -> Callable[[Session], int]:
    place = forget_repository if what.kind == "repository" else forget_person
    return lambda session: place.left(session, what)


def _looking(what: Forgotten) -> Callable[[Session], tuple[int, set[str]]]:
    return lambda session: (forget_person.left(session, what), forget_person.busy(session, what))


def _page(what: Forgotten, after: str) -> Callable[[Session], Page]:
    return lambda session: forget_person.runs(session, what, after)
