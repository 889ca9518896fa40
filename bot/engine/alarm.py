"""The stuck-work alarm: looks from time to time for what should have moved and has not, and says so once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from bot import log
from bot.errors import Transient
from bot.model.clock import Clock
from bot.store import Session, Store
from bot.store.stuck import Stuck, stuck

_log = log.get("engine")

#: seconds between looks
EVERY = 60.0


class Alarm:
    """Looks for what is stuck. `places` is how many runs all processes together work on, None where nobody knows."""

    def __init__(self, store: Store, clock: Clock, places: int | None) -> None:
        self._store = store
        self._clock = clock
        self._places = places
        #: by kind: what the log has been told of
        self._known: dict[str, set[str]] = {}

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            with suppress(Transient):  # the store says so
                await self.look()
            await self._clock.sleep(EVERY)

    async def look(self) -> Mapping[str, Stuck]:
        """What is stuck now. Each kind is a warning when there is something new in it, and a line when it is over."""
        found = await self._store.read(self._look)
        for kind, one in found.items():
            if not self._known.get(kind, set()).issuperset(one.ids):
                _log.warning("stuck", kind=kind, count=one.count, since=one.oldest.isoformat(), ids=list(one.ids))
            self._known.setdefault(kind, set()).update(one.ids)
        for kind in self._known.keys() - found.keys():
            del self._known[kind]
            _log.info("moves_again", kind=kind)
        return found

    def _look(self, session: Session) -> Mapping[str, Stuck]:
        return stuck(session, self._clock.now(), places=self._places)
