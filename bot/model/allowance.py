"""What GitHub lets an installation ask: what an answer says is left, and the port by which all processes share it.

Installation 0 is the App itself, which asks for tokens and for its own installations.
Source: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

#: the resource of a limit that holds for whatever an installation asks: a secondary one, shared by REST and GraphQL
EVERYTHING = "secondary"
#: what GitHub asks for where a secondary limit names no time; doubled at each further one
UNTOLD = 60.0
LONGEST = 3_600.0


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of one resource (`core`, `graphql`, …) until it is full again at `reset_at`, by our clock."""

    resource: str
    ceiling: int
    remaining: int
    reset_at: datetime | None


class Allowances(Protocol):
    """What is known of the limits. Nothing here asks GitHub, and only a limit waits for the disk."""

    async def until(self, installation_id: int, resource: str, now: datetime) -> datetime | None:
        """Before when nothing of that resource may be asked; None where it may be asked now."""
        ...

    async def limited(
        self, installation_id: int, resource: str, wait: float | None, sent: datetime, now: datetime
    ) -> float:
        """GitHub refused what was sent at `sent`, for `wait` seconds if it said so; the seconds until it may be asked.

        Known to every process when this returns.
        """
        ...

    def seen(self, installation_id: int, left: Left | None, sent: datetime, now: datetime) -> None:
        """GitHub did what was sent at `sent`; `left` where it said what is left."""
        ...


def doubled(strikes: int) -> float:
    """Seconds to wait after so many secondary limits in a row that named no time."""
    return min(UNTOLD * 2.0 ** (max(strikes, 1) - 1), LONGEST)


class OwnAllowances:
    """Those of one process that shares them with nobody (`doctor`), in memory."""

    def __init__(self) -> None:
        self._blocked: dict[tuple[int, str], datetime] = {}
        self._strikes: dict[tuple[int, str], int] = {}

    async def until(self, installation_id: int, resource: str, now: datetime) -> datetime | None:
        """See `Allowances`."""
        known = (self._blocked.get((installation_id, one)) for one in (resource, EVERYTHING))
        return max((until for until in known if until is not None and until > now), default=None)

    async def limited(
        self, installation_id: int, resource: str, wait: float | None, sent: datetime, now: datetime
    ) -> float:
        """See `Allowances`."""
        key = (installation_id, resource)
        self._blocked[key], self._strikes[key] = struck(
            self._blocked.get(key), self._strikes.get(key, 0), wait, sent, now
        )
        return (self._blocked[key] - now).total_seconds()

    def seen(self, installation_id: int, left: Left | None, sent: datetime, now: datetime) -> None:
        """See `Allowances`."""
        key = (installation_id, EVERYTHING)
        if over(self._blocked.get(key), sent):
            self._strikes.pop(key, None)
        if left is not None and left.remaining == 0 and left.reset_at is not None:
            self._blocked[installation_id, left.resource] = left.reset_at


def struck(
    until: datetime | None, strikes: int, wait: float | None, sent: datetime, now: datetime
) -> tuple[datetime, int]:
    """Until when nothing is asked after one more limit, and how many there were in a row that named no time.

    Requests that were under way together meet the same limit, and it counts once: what was sent before the block ends
    says nothing new.
    """
    if wait is None:
        together = until is not None and until > sent
        strikes = max(strikes, 1) if together else strikes + 1
        if together and until is not None and until > now:
            return until, strikes
        wait = doubled(strikes)
    return max(filter(None, (until, now + timedelta(seconds=wait)))), strikes


def over(until: datetime | None, sent: datetime) -> bool:
    """Whether what GitHub did shows that a limit is over: it was sent after it."""
    return until is not None and until <= sent
