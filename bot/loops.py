"""The loops of one process: they begin in groups, end in the opposite order, and what they come to is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from typing import Any

from bot import log
from bot.errors import BotError
from bot.model.clock import Clock

_log = log.get("app")

#: how long a stop waits for all groups together, and what of it is kept for each that ends later
STOP_SECONDS, STOP_RESERVE = 8.0, 1.0
#: after how long a loop that failed comes again: at first, and at most
AGAIN_SOONEST, AGAIN_LATEST = timedelta(minutes=1), timedelta(hours=1)

Loop = Callable[[], Coroutine[Any, Any, None]]


class Loops:
    """What goes on until this process is told to stop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._groups: list[list[asyncio.Task[None]]] = []
        #: by loop that comes again: when it failed last, and with what
        self._failed: dict[str, tuple[datetime, str]] = {}

    def start(self, vital: Mapping[str, Loop], beside: Mapping[str, Loop] | None = None) -> None:
        """Begin a group, by names; it ends before those that began earlier.

        Without a `vital` one nothing would be right, so one that ends is told and not begun again. Those `beside` come
        again after whatever they raise: what they have not done is done then.
        """
        works = {**vital, **{name: self._coming_again(name, loop) for name, loop in (beside or {}).items()}}
        group = [asyncio.create_task(work(), name=name) for name, work in works.items()]
        for loop in group:
            loop.add_done_callback(_tell)
        self._groups.append(group)

    def __contains__(self, name: str) -> bool:
        return any(loop.get_name() == name for group in self._groups for loop in group)

    def named(self, name: str) -> asyncio.Task[None]:
        """The loop of that name. Raises KeyError."""
        return {loop.get_name(): loop for group in self._groups for loop in group}[name]

    @property
    def stopped(self) -> tuple[str, ...]:
        """Those that have ended, which none does by itself."""
        return tuple(loop.get_name() for group in self._groups for loop in group if loop.done())

    @property
    def failing(self) -> Mapping[str, str]:
        """Those that failed so lately that they may not have come again, with what may be told to everybody."""
        since = self._clock.now() - AGAIN_LATEST
        return {name: what for name, (at, what) in self._failed.items() if at >= since}

    async def stop(self) -> None:
        """End the groups, the last one first; each may take what time there is but for a reserve of those before it."""
        deadline = asyncio.get_running_loop().time() + STOP_SECONDS
        for others, group in reversed(list(enumerate(self._groups))):
            for loop in group:
                loop.cancel()
            left = deadline - asyncio.get_running_loop().time() - others * STOP_RESERVE
            await asyncio.wait(group, timeout=max(0.0, left))

    def _coming_again(self, name: str, work: Loop) -> Loop:
        async def go() -> None:
            pause = AGAIN_SOONEST
            while True:
                began = self._clock.now()
                try:
                    return await work()
                except Exception as error:  # noqa: BLE001  # whatever it is: what it does is wanted tomorrow as well
                    now = self._clock.now()
                    self._failed[name] = now, _told(error)
                    if now - began > AGAIN_LATEST:
                        pause = AGAIN_SOONEST
                    told = {"loop": name, "again_in": pause.total_seconds(), "reason": str(error)}
                    _log.error("loop_failed", **told, exc_info=None if isinstance(error, BotError) else error)
                await self._clock.sleep(pause.total_seconds())
                pause = min(pause * 2, AGAIN_LATEST)

        return go


def _told(error: Exception) -> str:
    """Of a bug of ours its name alone: its text may hold what a row or a person says."""
    return str(error) if isinstance(error, BotError) else type(error).__name__


def _tell(loop: asyncio.Task[None]) -> None:
    """A loop that ends by itself is a bug of ours: it is told at once, and `/readyz` says 503 from then on."""
    if not loop.cancelled():
        _log.error("loop_stopped", loop=loop.get_name(), exc_info=loop.exception())
