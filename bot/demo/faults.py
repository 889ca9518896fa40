"""Faults that a test switches on: what goes wrong with the next requests that match."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime

import httpx

from bot.model.clock import Clock

SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID."
)


class ReplyLost(httpx.ReadError):
    """The request was performed and its answer never arrived.

    It is httpx's own error, so that a client over `ASGITransport` sees what it would see on a broken connection.
    """


@dataclass(slots=True)
class Fault:
    """One fault. `status` 0 means that the answer is lost; `performed` says whether the request takes effect first."""

    method: str
    path: str
    count: int
    status: int | None = None
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    performed: bool = False
    seconds: float = 0.0
    until: asyncio.Event | None = None
    #: seconds over which the body comes, a piece at a time
    trickle: float = 0.0
    #: set when a request ran into it
    met: asyncio.Event = field(default_factory=asyncio.Event)


class Faults:
    """Each method adds a fault for the next `count` requests whose method and path (a regular expression over the whole
    path, without `/api/v3`) match; the first that matches is taken. The returned `Fault.met` tells when it happened.
    """

    def __init__(self, clock: Clock, last_comment: Callable[[], int]) -> None:
        self._clock = clock
        self._last_comment = last_comment
        self._faults: list[Fault] = []
        self._stale_from = 0
        self._stale_until: datetime | None = None

    def add(self, fault: Fault) -> Fault:
        """Add any fault; the other methods make the common ones."""
        self._faults.append(fault)
        return fault

    def lose_reply(self, method: str = "POST", path: str = ".*", count: int = 1) -> Fault:
        """Perform the request, then break the connection instead of answering."""
        return self.add(Fault(method, path, count, status=0, performed=True))

    def broken(
        self, status: int = 502, method: str = ".*", path: str = ".*", count: int = 1, *, performed: bool = False
    ) -> Fault:
        """Answer 5xx, before or after the request took effect."""
        return self.add(Fault(method, path, count, status=status, message="Server Error", performed=performed))

    def refused(self, status: int, method: str = ".*", path: str = ".*", count: int = 1, message: str = "") -> Fault:
        """Answer with any refusal, such as a 404 for a moment."""
        return self.add(Fault(method, path, count, status=status, message=message or "Not Found"))

    def secondary_limit(self, method: str = "POST", path: str = ".*", count: int = 1) -> Fault:
        """403 for going too fast, with no header that says for how long."""
        return self.add(Fault(method, path, count, status=403, message=SECONDARY))

    def limited(
        self, retry_after: int | datetime, method: str = "POST", path: str = ".*", count: int = 1, status: int = 429
    ) -> Fault:
        """429 with `Retry-After` in seconds or as a date."""
        told = format_datetime(retry_after, usegmt=True) if isinstance(retry_after, datetime) else str(retry_after)
        return self.add(Fault(method, path, count, status=status, message=SECONDARY, headers={"Retry-After": told}))

    def slow(self, seconds: float, method: str = ".*", path: str = ".*", count: int = 1) -> Fault:
        """Answer only after some seconds of the world's clock."""
        return self.add(Fault(method, path, count, seconds=seconds))

    def trickle(self, seconds: float, method: str = ".*", path: str = ".*", count: int = 1) -> Fault:
        """Answer at once, with a body that takes some seconds of the world's clock to arrive."""
        return self.add(Fault(method, path, count, trickle=seconds))

    def hold(self, method: str = ".*", path: str = ".*", count: int = 1) -> Fault:
        """Answer only after `fault.until` was set."""
        return self.add(Fault(method, path, count, until=asyncio.Event()))

    def stale_listing(self, seconds: float) -> None:
        """For some seconds, listings show no comment that is written from now on (a replica that lags behind)."""
        self._stale_from = self._last_comment()
        self._stale_until = self._clock.now() + timedelta(seconds=seconds)

    @property
    def lagging(self) -> bool:
        """Whether listings are stale at this moment."""
        return self._stale_until is not None and self._clock.now() < self._stale_until

    def listed(self, comment_id: int) -> bool:
        """Whether a listing shows this comment at this moment."""
        return not self.lagging or comment_id <= self._stale_from

    def clear(self) -> None:
        """All well again."""
        self._faults.clear()
        self._stale_until = None

    def take(self, method: str, path: str) -> Fault | None:
        """The fault that this request runs into, counted down."""
        for fault in self._faults:
            if fault.count > 0 and re.fullmatch(fault.method, method) and re.fullmatch(fault.path, path):
                fault.count -= 1
                fault.met.set()
                return fault
        return None
