"""Whether GitHub answers at all: while it does not, one request tries it and everybody else is told when to come back.

Each process finds out for itself: what one machine cannot reach another may. While it is away a request leaves every
1, 2, 4 … 30 seconds, whatever waits.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.model.clock import Clock

#: failures in a row, without any answer between them, after which it counts as away
TRIP = 5
#: the same where all of them asked for one kind of thing, which may be at fault itself: only that is held back then
TRIP_ALIKE = 15
#: seconds until it is tried again: the first pause, and the longest
FIRST, LONGEST = 1.0, 30.0
#: seconds after which a try that was never heard of again makes room for another
_TRYING = 60.0


class Breaker:
    """One for a host. `ask` before a request, then `answered`, `failed`, or neither where nobody knows."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._kinds: set[str] = set()
        self._pause = 0.0
        self._closed_until: datetime | None = None
        self._trying = False
        #: the only kind of request that is held back; None where all are
        self.only: str | None = None
        #: since when it has been away
        self.since: datetime | None = None
        #: how it failed last
        self.reason = ""

    @property
    def left(self) -> float:
        """Seconds until any request may leave; 0 while GitHub answers, and when it is time for a try."""
        return 0.0 if self.only is not None else self._left

    @property
    def _left(self) -> float:
        if self._closed_until is None:
            return 0.0
        # a clock that was set back must not close it for longer than it is closed at most
        return min(max(0.0, (self._closed_until - self._clock.now()).total_seconds()), _TRYING)

    def ask(self, kind: str) -> float:
        """0 where a request may leave now, else the seconds after which to ask again; while it is away, one may."""
        if self.only not in (None, kind):
            return 0.0
        left = self._left
        if left > 0:
            return min(left, LONGEST)
        if self.since is not None:
            self._trying = True
            self._closed_until = self._clock.now() + timedelta(seconds=_TRYING)
        return 0.0

    def answered(self) -> bool:
        """It answers; whether it was away before."""
        was_away = self.since is not None
        self._failures, self._pause, self._trying = 0, 0.0, False
        self._kinds.clear()
        self._closed_until = self.since = self.only = None
        return was_away

    def failed(self, kind: str, reason: str, *, unreachable: bool) -> bool:
        """It did not answer, or that it cannot: whether all of it counts as away from now on.

        What was asked, `kind`, tells an outage from one sort of request that fails; `unreachable` does so by itself.
        """
        self._failures += 1
        self._kinds.add("" if unreachable else kind)
        self.reason = reason
        if self.since is not None:
            if more := self.only is not None and (unreachable or kind != self.only):
                self.only = None
            if more or self._trying:
                self._close()
            return more
        alike = not unreachable and len(self._kinds) == 1
        if self._failures < (TRIP_ALIKE if alike else TRIP):
            return False
        self.since = self._clock.now()
        self.only = kind if alike else None
        self._close()
        return not alike

    def _close(self) -> None:
        self._trying = False
        self._pause = min(max(FIRST, self._pause * 2), LONGEST)
        self._closed_until = self._clock.now() + timedelta(seconds=self._pause)
