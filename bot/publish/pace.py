"""How fast may be written: a token bucket per installation, and GitHub's bounds on creating content.

Nobody sleeps here: `take` says how long to wait, and until then nothing of that kind is asked for.
Source: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

#: what GitHub asks for after a secondary limit that names no time; doubled at each further one
UNTOLD = 60.0
_LONGEST = 3_600.0


@dataclass(slots=True)
class _Meter:
    """One installation's state. Times are seconds since the epoch."""

    tokens: float
    filled_at: float
    created: deque[float] = field(default_factory=deque)
    blocked_until: float = 0.0
    strikes: int = 0


class Pace:
    """Shared by everything that writes in this process; may be called from any thread.

    `burst` and `rate` (a second) bound all writes of an installation, `minute` and `hour` the creation of content.
    """

    def __init__(self, *, burst: int = 10, rate: float = 1.0, minute: int = 80, hour: int = 500) -> None:
        self._burst = burst
        self._rate = rate
        self._windows = ((60.0, minute), (3_600.0, hour))
        self._meters: dict[int, _Meter] = {}
        self._lock = threading.Lock()

    def take(self, installation: int, *, content: bool, now: datetime) -> float:
        """0 if one write may leave now (and is counted), else the seconds after which to ask again."""
        at = now.timestamp()
        with self._lock:
            meter = self._meter(installation, at)
            wait = max(meter.blocked_until - at, self._token(meter, at), self._window(meter, at) if content else 0.0)
            if wait <= 0:
                meter.tokens -= 1
                if content:
                    meter.created.append(at)
                return 0.0
            return wait

    def limited(self, installation: int, told: float | None, now: datetime) -> datetime:
        """GitHub limited this installation, for `told` seconds if it said so. Returns when it may write again."""
        with self._lock:
            meter = self._meter(installation, now.timestamp())
            meter.strikes += 1
            wait = told
            if wait is None or wait == UNTOLD:
                wait = min(UNTOLD * 2 ** (meter.strikes - 1), _LONGEST)
            meter.blocked_until = max(meter.blocked_until, now.timestamp() + wait)
            return now + timedelta(seconds=meter.blocked_until - now.timestamp())

    def went_well(self, installation: int, *, calls: int = 1, now: datetime | None = None) -> None:
        """A write was accepted: the next limit starts from the shortest wait again.

        `calls` is how many it took: those beyond the one that `take` counted are paid for by what comes next.
        """
        with self._lock:
            if installation in self._meters:
                meter = self._meters[installation]
                meter.strikes = 0
                if calls > 1 and now is not None:
                    self._token(meter, now.timestamp())
                    meter.tokens -= calls - 1

    def _meter(self, installation: int, at: float) -> _Meter:
        return self._meters.setdefault(installation, _Meter(float(self._burst), at))

    def _token(self, meter: _Meter, at: float) -> float:
        # a clock that went back gives nothing and takes nothing
        meter.tokens = min(float(self._burst), meter.tokens + max(0.0, at - meter.filled_at) * self._rate)
        meter.filled_at = at
        # a thousandth of a token is rounding, not haste
        return 0.0 if meter.tokens >= 0.999 else (1 - meter.tokens) / self._rate

    def _window(self, meter: _Meter, at: float) -> float:
        while meter.created and meter.created[0] <= at - self._windows[-1][0]:
            meter.created.popleft()
        waits = [0.0]
        for seconds, most in self._windows:
            if len(meter.created) >= most:
                waits.append(meter.created[-most] + seconds - at)
        return max(waits)
