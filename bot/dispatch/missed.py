"""What was missed comes in all the same: GitHub's log of deliveries is read on start and every ten minutes.

No connection from GitHub to us is needed for it. Where the log no longer tells (we were away for longer than it keeps,
or it is empty or refused after a start), the threads themselves are read (`thread_scan`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot import log
from bot.dispatch.log_reading import KEPT, Admit, LogReading
from bot.dispatch.parts import Parts
from bot.dispatch.thread_scan import ThreadScan
from bot.errors import BotError, Forbidden, Lost, NotFound, Transient
from bot.store import landmarks

_log = log.get("missed")

EVERY = timedelta(minutes=10)
#: before a reading that ended early goes on
AGAIN = timedelta(minutes=1)
#: pages of a hundred attempts, deliveries that are asked for, repositories that are scanned: at most, at one look
PAGES, FETCHES, REPOSITORIES = 100, 300, 200
#: how much of what was read before is read again: an attempt is in the log only once it is over, and clocks differ
OVERLAP = timedelta(minutes=10)
#: the landmark: up to when GitHub's log was read
LANDMARK = "deliveries"
#: a scan reaches this far into what the log tells of: threads and log are not cut at the same second
_MARGIN = timedelta(hours=1)
#: threads are read no further back than this
FURTHEST = timedelta(days=30)


class Missed:
    """Brings in what was not delivered. One process at a time does it."""

    def __init__(
        self,
        parts: Parts,
        app_id: int,
        admit: Admit,
        *,
        pages: int = PAGES,
        fetches: int = FETCHES,
        repositories: int = REPOSITORIES,
    ) -> None:
        self._p, self._app_id, self._admit = parts, app_id, admit
        self._pages, self._fetches, self._repositories = pages, fetches, repositories
        self._reading: LogReading | None = None
        self._scan: ThreadScan | None = None
        self._scanned = False
        #: whether the log was read to its end since this process began
        self._caught_up = False

    async def run(self) -> None:
        """Look from time to time, until cancelled."""
        while True:
            try:
                wait = EVERY if await self.look() else AGAIN
            except Lost:
                raise  # another process does it now
            except BotError as error:
                _log.warning("log_not_read", reason=str(error))
                after = error.retry_after if isinstance(error, Transient) else None
                wait = max(AGAIN, timedelta(seconds=after or 0))
            await self._p.clock.sleep(wait.total_seconds())

    async def look(self) -> bool:
        """Bring in what is missing, within the bounds of one look; whether nothing is left for now.

        Raises what asking GitHub raises; what was done by then counts, and the next look goes on from there.
        """
        reached = await self._p.store.read(lambda session: landmarks.reached(session, LANDMARK))
        if self._reading is None:
            self._reading, self._scan, self._scanned = self._begin(reached), None, False
        reading, refused = self._reading, None
        try:
            if not await reading.list(self._pages):
                return False
        except (NotFound, Forbidden) as error:
            refused = error
            _log.warning("log_refused", reason=str(error))
        now = reading.started or self._p.clock.now()
        if reached is not None and not self._scanned:
            self._scan = self._scan or self._due(reached, now, reading, refused)
            # it is about what is older than the log, and so comes first
            if self._scan is not None and not await self._scan.go(self._repositories):
                return False
            self._scanned = True
        if refused is None:
            return await self._take(reading, now, first=reached is None)
        if reached is None or self._scan is not None:
            await self._reach(now)
        self._reading, self._caught_up = None, True
        return True

    def _begin(self, reached: datetime | None) -> LogReading:
        since = None if reached is None else reached - OVERLAP
        return LogReading(
            self._p.store, self._p.github.hook_log, self._app_id, self._admit, self._p.clock,
            since=since, answered=reached is not None,
        )  # fmt: skip

    def _due(
        self, reached: datetime, now: datetime, reading: LogReading, refused: BotError | None
    ) -> ThreadScan | None:
        """A scan of the threads where the log cannot tell of all the time since `reached`."""
        gone = now - reached > KEPT
        silent = not self._caught_up and (refused is not None or reading.seen == 0)
        if not gone and not silent:
            return None
        # of what the log tells, only its beginning is looked for in the threads too
        until = None if silent or refused is not None else now - KEPT + _MARGIN
        since = max(reached - OVERLAP, now - FURTHEST)
        _log.warning("threads_are_scanned", since=since.isoformat(), reason=str(refused or "the log does not go back"))
        return ThreadScan(self._p, self._app_id, self._admit, since=since, until=until)

    async def _take(self, reading: LogReading, now: datetime, *, first: bool) -> bool:
        try:
            done = await reading.take(self._fetches)
        except BotError:
            if not first:  # until the first reading is over, what was answered is another's
                await self._reach(reading.reached or now)
            raise
        if done or not first:
            await self._reach(reading.reached or now)
        if not done:
            return False
        self._reading, self._caught_up = None, True
        if reading.tally:
            _log.info("missed_deliveries", **{name.replace(" ", "_"): count for name, count in reading.tally.items()})
        if lost := reading.tally["accepted"]:
            _log.error(
                "accepted_deliveries_unknown",
                count=lost,
                hint="GitHub says that this bot accepted them, and the database has none of them: was it replaced? "
                "`threadsmith redeliver --accepted` takes them; what they led to may be said again",
            )
        return (reading.reached or now) >= now

    async def _reach(self, at: datetime) -> None:
        await self._p.store.write(lambda session: landmarks.reach(session, LANDMARK, at))
