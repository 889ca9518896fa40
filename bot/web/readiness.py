"""What `/readyz` asks of the rows: whether the tables are this version's, duties are held, and the queue moves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.model.clock import Clock
from bot.store import Session, Store, figures, migrate, processes, stuck

#: how long the same delivery may be the oldest that is due while nothing comes of it: GitHub may be slow to answer
DELIVERY_STILL = timedelta(minutes=5)
#: how long the same run may be the next while this process has nothing to do
RUN_STILL = timedelta(minutes=1)
#: installations that are named
SHOWN = 3


@dataclass(slots=True)
class Head:
    """What stood first in a queue, and since when it does."""

    id: str
    since: datetime

    def still(self, found: str, now: datetime) -> timedelta:
        """How long `found` has stood first."""
        if found != self.id or now < self.since:
            self.id, self.since = found, now
        return now - self.since


class Readiness:
    """The checks of one process. `idle` says whether it works on nothing though it could, `hears` whether deliveries
    are its to look at; `duties` are those that somebody has to have.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        idle: Callable[[], bool] = lambda: False,
        hears: Callable[[], bool] = lambda: True,
        duties: Collection[str] = (),
        away: Callable[[], tuple[datetime, str] | None] = lambda: None,
    ) -> None:
        self._store, self._clock = store, clock
        self._idle, self._hears, self._duties, self._away = idle, hears, tuple(duties), away
        self._delivery, self._run = Head("", clock.now()), Head("", clock.now())

    async def schema(self) -> str | None:
        """Whether the tables are those of this version: another one may have migrated them meanwhile."""
        found = await self._store.read(migrate.revision)
        return None if found == migrate.HEAD else f"the tables are at {found}, this version needs {migrate.HEAD}"

    async def held(self) -> str | None:
        """Whether every duty is somebody's who lives."""
        if not self._duties:
            return None
        free = await self._store.read(lambda session: figures.unheld(session, self._duties, processes.now(session)))
        return f"nobody does: {', '.join(sorted(free))}" if free else None

    async def moves(self) -> str | None:
        """Whether what is due is taken up."""
        now = self._clock.now()
        delivery, run = await self._store.read(lambda session: _heads(session, now))
        stands = self._delivery.still(delivery, now) if delivery and self._hears() else timedelta()
        if stands >= DELIVERY_STILL:
            return f"delivery {delivery} is due, and nothing came of it for {_minutes(stands)} min"
        # while it works on something, the next run may have to wait
        waits = self._run.still(run if run and self._idle() else "", now)
        if run and self._idle() and waits >= RUN_STILL:
            return f"run {run} is next, and nobody took it for {_minutes(waits)} min"
        return None

    async def answers(self) -> str | None:
        """Whether GitHub answers."""
        away = self._away()
        if away is None:
            return None
        since, reason = away
        return f"it has not answered since {since:%H:%M:%S} UTC ({reason})"

    async def limits(self) -> str | None:
        """Which installations must not ask anything now."""
        now = self._clock.now()
        found = await self._store.read(lambda session: figures.blocked(session, now))
        if not found:
            return None
        named = [f"{one} until {until:%H:%M:%S} UTC" for one, until in list(found.items())[:SHOWN]]
        return f"{len(found)} installation(s) at a limit: {', '.join(named)}"

    async def stands(self) -> str | None:
        """What should have moved and has not."""
        now = self._clock.now()
        found: Mapping[str, stuck.Stuck] = await self._store.read(lambda session: stuck.stuck(session, now))
        return "; ".join(stuck.told(kind, one, now) for kind, one in found.items()) or None


def _heads(session: Session, now: datetime) -> tuple[str, str]:
    delivery, run = figures.oldest_delivery(session, now), figures.oldest_run(session, now)
    return (delivery[0] if delivery is not None else ""), (run[0] if run is not None else "")


def _minutes(time: timedelta) -> int:
    return int(time.total_seconds() // 60)
