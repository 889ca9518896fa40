"""Waking whoever waits for rows, in this process and without polling."""

from __future__ import annotations

import asyncio

#: seconds after which whoever waits for a time of day looks at the clock again: it may be set, and while the machine
#: sleeps the event loop's stands still
LONGEST = 60.0


class Bell:
    """Counts rings. A waiter notes `count`, looks for rows, and waits for a count beyond: no ring is ever missed."""

    def __init__(self) -> None:
        self.count = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        """Wake every waiter. Call it in the event loop's thread."""
        self.count += 1
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, seen: int, timeout: float | None = None) -> None:
        """Return when the bell has been rung since `seen`, or after `timeout` seconds, `LONGEST` at most."""
        if self.count != seen:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            async with asyncio.timeout(None if timeout is None else min(timeout, LONGEST)):
                await waiter
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(waiter)
