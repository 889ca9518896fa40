"""The queue inside one process: a claim loop over the run rows, woken without polling (docs/adr: queue)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from bot.model.clock import Clock
from bot.model.ident import new_id
from bot.store import Session, Store, runs

LEASE = timedelta(seconds=30)


class EmbeddedQueue:
    """A run row in state `queued` is its own entry, so nothing has to be enqueued after a commit.

    One process owns the database (the data folder is locked), so every lease of another owner is a dead one's.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._turn = asyncio.Lock()
        self.owner = new_id()
        #: runs that one death interrupted together: until they have ended one run goes at a time, so that a further
        #: death tells which of them it was
        self._suspects: set[str] = set()

    async def recover(self) -> int:
        taken = await self._store.write(lambda session: runs.recover(session, self.owner, self._clock.now()))
        if len(taken) > 1:
            self._suspects = set(taken)
        return len(taken)

    async def claim(self) -> str:
        bell = self._store.bell("queue")
        async with self._turn:  # one worker looks at a time: a ring wakes one query, not one a worker
            while True:
                seen = bell.count
                run_id = await self._store.write(self._claim)
                if run_id is not None:
                    return run_id
                due = await self._store.read(runs.next_due)
                wait = None if due is None else max(0.01, (due - self._clock.now()).total_seconds())
                await bell.wait(seen, wait)

    def _claim(self, session: Session) -> str | None:
        if self._suspects:
            self._suspects = runs.still_open(session, self._suspects)
            if self._suspects and runs.any_running(session, self.owner):
                return None
        return runs.claim(session, self.owner, self._clock.now(), LEASE)

    async def beat(self) -> None:
        until = self._clock.now() + LEASE
        await self._store.write(lambda session: runs.beat(session, self.owner, until))
