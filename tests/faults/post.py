"""GitHub's side of webhooks in an episode: each is sent once, and what got no 2xx is sent again later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import httpx

from bot.demo.deliveries import Attempt, Delivery
from bot.demo.world import World

#: deliveries under way at once, so that they overtake each other as they do on GitHub
AT_ONCE = 4


class Post:
    """Sends the world's deliveries to wherever `door` says that a bot listens; None while there is none.

    Every attempt is in the log that the bot may read. `acknowledged` holds the GUIDs that were answered with 2xx: what
    must never be lost.
    """

    def __init__(self, world: World, door: Callable[[], int | None]) -> None:
        self._world = world
        self._door = door
        self._client = httpx.AsyncClient(timeout=10, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
        self._fresh: asyncio.Queue[Delivery] = asyncio.Queue()
        self._missed: list[Delivery] = []
        self._workers: list[asyncio.Task[None]] = []
        self.acknowledged: dict[str, Delivery] = {}
        #: attempts that got no 2xx
        self.refused = 0

    async def __aenter__(self) -> Post:
        self._world.outgoing.append(self._take)
        self._workers = [asyncio.create_task(self._work()) for _ in range(AT_ONCE)]
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._world.outgoing.remove(self._take)
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        await self._client.aclose()

    def _take(self, made: Delivery, _redelivery: bool) -> None:
        self._fresh.put_nowait(made)

    async def _work(self) -> None:
        while True:
            made = await self._fresh.get()
            try:
                await self._send(made)
            finally:
                self._fresh.task_done()

    async def _send(self, made: Delivery) -> None:
        port, code, headers = self._door(), 502, made.headers()
        if port is not None:
            with suppress(httpx.HTTPError):
                url = f"http://127.0.0.1:{port}/webhook"
                code = (await self._client.post(url, content=made.body, headers=headers)).status_code
        answered, again = code in range(200, 300), bool(made.attempts)
        attempt = Attempt(
            self._world.next_id("attempt"), made, self._world.now(), 0.1, "OK" if answered else "failed", code, again,
            headers, {}, "",
        )  # fmt: skip
        made.attempts.append(attempt)
        self._world.attempts.append(attempt)
        if answered:
            self.acknowledged[made.guid] = made
        else:
            self.refused += 1
            self._missed.append(made)

    @property
    def rests(self) -> bool:
        """Whether everything was acknowledged."""
        return self._fresh.empty() and not self._missed and len(self.acknowledged) == len(self._world.deliveries)

    @property
    def open(self) -> int:
        """How many deliveries nobody has acknowledged yet."""
        return len(self._world.deliveries) - len(self.acknowledged)

    def again(self) -> None:
        """Send what was missed once more, as GitHub does when it is asked to."""
        missed, self._missed = self._missed, []
        for made in missed:
            self._fresh.put_nowait(made)
