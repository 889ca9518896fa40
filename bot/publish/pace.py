"""How fast may be written: a token bucket per installation, and GitHub's bounds on creating content.

Nobody sleeps here: `take` says how long to wait, and until then nothing of that kind is asked for. What counts is in
rows, written in the transaction that claims or settles a post, so that several processes share it and a restart
forgets nothing. GitHub counts when it creates, which is between our sending and its answer: what was answered counts
from the answer on, so that no window of GitHub's ever holds more than ours.
Source: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.model.allowance import UNTOLD, struck
from bot.store import Session, meters
from bot.store.meters import Level

#: seconds by which the clocks of two processes may differ
_SKEW = 5.0


class Pace:
    """The rules. `burst` and `rate` (a second) bound all writes of an installation, `minute` and `hour` the creation of
    content. Every method is part of the caller's write transaction.
    """

    def __init__(self, *, burst: int = 10, rate: float = 1.0, minute: int = 80, hour: int = 500) -> None:
        self._burst = float(burst)
        self._rate = rate
        self._windows = ((60.0, minute), (3_600.0, hour))

    def take(self, session: Session, installation: int, *, creates: str | None, now: datetime) -> float:
        """0 if one write may leave now (and is counted), else the seconds after which to ask again.

        `creates` is the id of the row that makes content, None for a write that makes none.
        """
        meter = meters.level(session, installation, tokens=self._burst, now=now)
        tokens = self._tokens(meter, now)
        # a thousandth of a token is rounding, not haste
        short = 0.0 if tokens >= 0.999 else (1 - tokens) / self._rate
        wait = max(_left(meter.blocked_until, now), short)
        if creates is not None:
            wait = max(wait, self._window(session, installation, now))
        if wait > 0:
            return wait
        meter.tokens, meter.filled_at = tokens - 1, now
        meters.keep(session, installation, meter)
        if creates is not None:
            longest = timedelta(seconds=self._windows[-1][0])
            meters.purge(session, installation, now - longest, now + longest)
            meters.create(session, installation, creates, now)
        return 0.0

    def limited(
        self, session: Session, installation: int, told: float | None, now: datetime, *, sent: datetime | None = None
    ) -> datetime:
        """GitHub limited what was sent at `sent`, for `told` seconds if it said so. Returns when it may write again.

        Several that were under way together meet one limit.
        """
        meter = self._filled(session, installation, now)
        wait = None if told == UNTOLD else told
        until, meter.strikes = struck(meter.blocked_until, meter.strikes, wait, sent or now, now)
        meter.blocked_until = until
        meters.keep(session, installation, meter)
        return until

    def answered(
        self,
        session: Session,
        installation: int,
        creates: str | None,
        sent: datetime | None,
        now: datetime,
        *,
        calls: int = 0,
    ) -> None:
        """GitHub answered what `take` let go at `sent`, `creates` as it was given there. With `calls` it was done, and
        took so many writes.

        Those beyond the one that was counted are paid for by what comes next, and the next limit without a time starts
        from the shortest wait again.
        """
        if creates is not None and sent is not None:
            meters.created(session, creates, sent, now)
        if calls > 1:
            self.spent(session, installation, calls - 1, now)
        if calls:
            meters.calm(session, installation, sent or now)

    def unsent(self, session: Session, row_id: str, sent: datetime | None) -> None:
        """What `take` let go never reached GitHub, or was refused for its rate: it created nothing."""
        if sent is not None:
            meters.created(session, row_id, sent, None)

    def spent(self, session: Session, installation: int, calls: int, now: datetime) -> None:
        """Writes left that nobody asked for: what comes next pays for them."""
        meter = self._filled(session, installation, now)
        meter.tokens -= calls
        meters.keep(session, installation, meter)

    def _filled(self, session: Session, installation: int, now: datetime) -> Level:
        meter = meters.level(session, installation, tokens=self._burst, now=now)
        meter.tokens, meter.filled_at = self._tokens(meter, now), now
        return meter

    def _tokens(self, meter: Level, now: datetime) -> float:
        """How many there are by now."""
        # a clock that went back takes nothing. It gives one: what is refused is not kept, so that the meter would stand
        # in the future, and nothing be sent, for as long as the clock needs to get there
        passed = (now - meter.filled_at).total_seconds()
        passed = 1 / self._rate if passed < -_SKEW else max(0.0, passed)
        return min(self._burst, meter.tokens + passed * self._rate)

    def _window(self, session: Session, installation: int, now: datetime) -> float:
        waits = [0.0]
        for seconds, most in self._windows:
            at = meters.created_before_last(session, installation, most)
            # one from the future was made by a clock that was set back: it waits no longer than its window
            waits.append(min(seconds, _left(at, now) + seconds) if at is not None else 0.0)
        return max(waits)


def _left(until: datetime | None, now: datetime) -> float:
    """Seconds until then; below 0 where it has been."""
    return 0.0 if until is None else (until - now).total_seconds()
