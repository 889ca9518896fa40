"""Time that goes faster: a bot's hour of limits, leases and looks in a test's minutes, with the product's own numbers.

Everything that reads a clock is given this one, and the bot's event loop runs on it, so that what the code calls 90 s
is 90 s for the bot, the look-alike and the database alike.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Haste:
    """A clock `factor` times as fast as the machine's since `began`, in seconds since 1970."""

    factor: float
    began: float

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.began + (time.time() - self.began) * self.factor, UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait in an event loop that is in no haste."""
        await asyncio.sleep(seconds / self.factor)


class HastyClock:
    """The same time inside a `HastyLoop`, whose sleeps are short already."""

    def __init__(self, haste: Haste) -> None:
        self._haste = haste

    def now(self) -> datetime:
        return self._haste.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Selector(selectors.DefaultSelector):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self._factor = factor

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(None if timeout is None else timeout / self._factor)


class HastyLoop(asyncio.SelectorEventLoop):
    """An event loop whose seconds are `factor` times as short."""

    def __init__(self, factor: float) -> None:
        self._factor = factor
        super().__init__(_Selector(factor))

    def time(self) -> float:
        return time.monotonic() * self._factor
