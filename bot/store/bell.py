"""Waking whoever waits for rows, in this process and without polling."""

from __future__ import annotations

import asyncio


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
        """Return when the bell has been rung since `seen`, or after `timeout` seconds."""
        if self.count != seen:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            async with asyncio.timeout(timeout):
                await waiter
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(waiter)
