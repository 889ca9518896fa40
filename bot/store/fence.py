"""A store whose every write first makes sure that this process still holds what it writes for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlmodel import Session

from bot.errors import Lost
from bot.store.bell import Bell
from bot.store.database import Store, named_as

T = TypeVar("T")
#: in the write transaction: whether what is needed is still held
Holds = Callable[[Session], bool]


class FencedStore(Store):
    """A view of `store`: reads and bells are the same, a write raises `Lost` and does nothing where `holds` says no.

    A process that was stopped and wakes up finds out there, in the transaction itself: no time lies between look and
    write. It is closed with the store that it is a view of.
    """

    def __init__(self, store: Store, holds: Holds, what: str) -> None:
        self._store, self._holds, self._what = store, holds, what

    def bell(self, name: str) -> Bell:
        return self._store.bell(name)

    async def write(self, work: Callable[[Session], T]) -> T:
        """As `Store.write`. Raises `Lost` where another process has what this one held."""

        def fenced(session: Session) -> T:
            if not self._holds(session):
                raise Lost(self._what)
            return work(session)

        return await self._store.write(named_as(work, fenced))

    async def read(self, work: Callable[[Session], T]) -> T:
        return await self._store.read(work)

    async def close(self) -> None:
        """Nothing: the store that this is a view of is closed by whoever opened it."""
