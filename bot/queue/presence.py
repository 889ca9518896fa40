"""This process among those on the database: it beats, it takes the duties that are free, and it leaves."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from bot import log
from bot.errors import Transient
from bot.model.ident import new_id
from bot.queue.duty import Duty
from bot.store import Session, Store, duties, processes

_log = log.get("queue")

#: seconds between two signs of life: three may be missed before a process counts as dead
BEAT = 2.5
#: seconds before another try where the database refuses
PAUSE = 0.5


class Presence:
    """One start of a process. `kind` is `serve`, `receiver` or `worker`; for the duties that it wants it stands by.

    `alone`: a lock says that nobody else uses this database (SQLite), so that nothing has to be proven by beating.
    """

    def __init__(self, store: Store, *, kind: str, wanted: Sequence[str] = (), alone: bool) -> None:
        self.id = new_id()
        self._store = store
        self._kind, self._alone = kind, alone
        self._host = socket.gethostname()
        self._duties = {name: Duty(store, name, self.id, alone=alone) for name in wanted}

    def duty(self, name: str) -> Duty:
        """One of those that are wanted."""
        return self._duties[name]

    async def join(self) -> None:
        """Become known, and take what is free."""
        await self._beat(first=True)

    async def run(self) -> None:
        """Beat until cancelled. Whoever leaves rings, so that the others look at its duties at once."""
        bell = self._store.bell("duty")
        while True:
            seen = bell.count
            await bell.wait(seen, None if self._alone else BEAT)
            try:
                await self._beat()
            except Transient:  # the store says so
                await bell.wait(bell.count, PAUSE)

    async def leave(self) -> None:
        """Give back everything: what is still held here is taken over at once, or where the database refuses, soon."""
        try:
            await self._store.write(lambda session: processes.leave(session, self.id))
        except Transient as error:  # the others notice its silence
            _log.warning("left_unsaid", reason=str(error))
        for duty in self._duties.values():
            duty.note(held=False)

    def show(self, session: Session) -> None:
        """Within a transaction: whoever is able to write lives."""
        if not self._alone:
            processes.beat(session, self.id, host=self._host, kind=self._kind)

    async def _beat(self, *, first: bool = False) -> None:
        def work(session: Session) -> set[str]:
            if first and self._alone:
                processes.alone(session, self.id)
            processes.beat(session, self.id, host=self._host, kind=self._kind)
            return duties.keep(session, self.id, tuple(self._duties))

        held = await self._store.write(work)
        for name, duty in self._duties.items():
            duty.note(held=name in held)
