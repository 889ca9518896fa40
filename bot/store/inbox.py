"""The front door's inbox on the store: what arrives while one transaction is under way goes into the next, together."""

from __future__ import annotations

import asyncio
from typing import Literal

from bot.errors import Transient
from bot.model.clock import Clock
from bot.model.delivery import NewDelivery
from bot.store import deliveries
from bot.store.database import Store
from bot.store.deliveries import Taken

#: deliveries in one transaction at most: others want to write too
TOGETHER = 256

_Waiting = tuple[NewDelivery, "asyncio.Future[Taken]"]


class StoreInbox:
    """See `bot.webhook.Inbox`. One statement keeps all that wait; each is answered for itself, after the commit."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._waiting: list[_Waiting] = []
        self._keeping: asyncio.Task[None] | None = None

    async def take(self, delivery: NewDelivery) -> Literal["accepted", "duplicate"]:
        """See `bot.webhook.Inbox.take`. Whoever is cancelled meanwhile gets his delivery kept all the same."""
        done: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()
        self._waiting.append((delivery, done))
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep_all(), name="inbox")
            self._keeping.add_done_callback(self._over)
        return await done

    async def _keep_all(self) -> None:
        while self._waiting:
            together, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
            try:
                await self._keep(together)
            finally:
                _let_go(together)
        self._keeping = None

    def _over(self, keeping: asyncio.Task[None]) -> None:
        """Where it was cancelled, before its first line perhaps, nobody waits for ever, and the next begins anew."""
        if self._keeping is keeping:
            self._keeping = None
            left, self._waiting = self._waiting, []
            _let_go(left)

    async def _keep(self, together: list[_Waiting]) -> None:
        now, new = self._clock.now(), [delivery for delivery, _ in together]
        try:
            taken = await self._store.write(lambda session: deliveries.take_all(session, new, now))
        except Exception as error:  # noqa: BLE001  # whatever it is, each of those who wait must hear of it
            if len(together) > 1 and not isinstance(error, Transient):
                # something is wrong with one of them: the others are kept without it
                for one in together:
                    await self._keep([one])
                return
            for _, done in together:
                if not done.done():
                    done.set_exception(error)
            return
        for (_, done), status in zip(together, taken, strict=True):
            if not done.done():
                done.set_result(status)


def _let_go(together: list[_Waiting]) -> None:
    """Whoever was not answered by now never will be."""
    for _, done in together:
        done.cancel()
