"""The queue: a claim loop over the run rows, the same on both databases, woken without polling (docs/adr: queue)."""

from __future__ import annotations

import asyncio
from functools import partial

from bot.model.clock import Clock
from bot.model.ident import new_id, sort_behind
from bot.queue.presence import Presence
from bot.store import Session, Store, leases, runs


class RunQueue:
    """A run row in state `queued` is its own entry, so nothing has to be enqueued after a commit.

    `presence` is this process among others; without one every other owner is dead.
    """

    def __init__(self, store: Store, clock: Clock, presence: Presence | None = None) -> None:
        self._store = store
        self._clock = clock
        self._presence = presence
        self._turn = asyncio.Lock()
        self.owner = presence.id if presence is not None else new_id()

    async def recover(self) -> int:
        if not await self._store.read(lambda session: leases.orphans(session, self.owner)):
            return 0
        return len(await self._store.write(self._recover))

    def _recover(self, session: Session) -> list[str]:
        return leases.recover(session, self.owner, self._clock.now())

    async def claim(self) -> str:
        bell = self._store.bell("queue")
        async with self._turn:  # one worker looks at a time: a ring wakes one query, not one a worker
            while True:
                seen, before = bell.count, self._clock.now()
                run_id = await self._store.write(self._claim)
                if run_id is not None:
                    return run_id
                # whichever is earlier: the clock may have been set back meanwhile
                after = min(before, self._clock.now())
                due = await self._store.read(partial(runs.next_due, after=after))
                wait = None if due is None else max(0.01, (due - self._clock.now()).total_seconds())
                await bell.wait(seen, wait)

    def _claim(self, session: Session) -> str | None:
        if leases.any_suspect(session) and leases.any_running(session, self.owner):
            return None
        run_id = runs.claim(session, self.owner, self._clock.now())
        if run_id is not None:
            if self._presence is not None:  # a process that was stopped for a while must not hold what it takes as dead
                self._presence.show(session)
            newest = leases.newest_id(session, run_id)
            if newest is not None:  # made on a machine whose clock is ahead, perhaps
                sort_behind(newest)
        return run_id

    async def lost(self) -> set[str]:
        return await self._store.read(lambda session: leases.held_by_others(session, self.owner))
