"""The loop behind `schedule`: knows what every repository wants, and lets come in what is due."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from bot import log
from bot.dispatch import schedules
from bot.dispatch.parts import Parts
from bot.dispatch.schedules import Place
from bot.errors import BotError, Lost, Transient
from bot.store import Session, deliveries
from bot.store import schedules as rows
from bot.workflows.triggers import next_time

_log = log.get("dispatch")

#: between two looks at the configuration of every repository; pushes tell of changes in between
SCAN_EVERY = timedelta(hours=6)
#: after a scan that GitHub or the database stopped
SCAN_AGAIN = timedelta(minutes=10)
#: seconds between looks when nothing rings, so that a clock that was set is noticed
LOOK_EVERY = 60.0
#: seconds before another look where the database refuses
PAUSE = 1.0


class Timetable:
    """Puts a delivery into the inbox for every workflow that is due, once for each time."""

    def __init__(self, parts: Parts, app_id: int) -> None:
        self._p = parts
        self._app_id = app_id

    async def run(self) -> None:
        """Let come in what is due, until cancelled."""
        bell = self._p.store.bell("schedule")
        while True:
            seen = bell.count
            try:
                await self.look()
                due = await self._p.store.read(rows.next_due)
            except Transient:  # the store says so
                await self._p.clock.sleep(PAUSE)
                continue
            wait = LOOK_EVERY if due is None else (due - self._p.clock.now()).total_seconds()
            await bell.wait(seen, min(max(wait, 0.05), LOOK_EVERY))

    async def look(self) -> int:
        """Let come in what is due now; how much that was. Of times that have passed in vain the newest counts."""
        now = self._p.clock.now()

        def work(session: Session) -> int:
            due = rows.due(session, now)
            for row in due:
                deliveries.take(session, schedules.delivery_of(row, self._app_id, now), now)
                row.next_at = next_time(row.cron, now)
                session.add(row)
            return len(due)

        found = await self._p.store.read(lambda session: bool(rows.due(session, now, limit=1)))
        return await self._p.store.write(work) if found else 0

    async def follow(self) -> None:
        """Read every repository's configuration from time to time, until cancelled."""
        while True:
            try:
                await self.scan()
                wait = SCAN_EVERY
            except Lost:
                raise
            except BotError as error:
                _log.warning("scan_stopped", reason=str(error))
                wait = SCAN_AGAIN
            await self._p.clock.sleep(wait.total_seconds())

    async def scan(self) -> None:
        """Read the configuration of every served repository. Raises what asking for the installations raises.

        A repository that cannot be read keeps what it wanted; so does one that is archived, or whose installation is
        suspended, and rests.
        """
        identity = await self._p.identities.get()
        installations = await self._p.github.installations()
        for one in installations:
            if not identity.serves(one.account):
                continue
            if one.suspended:
                await self._p.store.write(partial(rows.rest, installation_id=one.id))
                continue
            try:
                repositories = await self._p.github.repositories(one.id)
            except BotError as error:
                _log.warning("installation_not_read", installation=one.id, reason=str(error))
                continue
            for repository in repositories:
                if repository.archived:
                    await self._p.store.write(partial(rows.rest, repository_id=repository.id))
                else:
                    await self._read(Place(repository, one.id))
            here = {repository.id for repository in repositories}
            await self._p.store.write(partial(rows.drop_others, installation_id=one.id, repositories=here))
        known = {one.id for one in installations}
        await self._p.store.write(lambda session: rows.drop_installations(session, known))

    async def _read(self, place: Place) -> None:
        client = self._p.github.repository(place.installation_id, place.repository)
        try:
            configured = await self._p.configured(client)
        except BotError as error:
            _log.warning("repository_not_read", repository=place.repository.full_name, reason=str(error))
            return
        now: datetime = self._p.clock.now()
        await self._p.store.write(lambda session: schedules.follow(session, place, configured, now))
