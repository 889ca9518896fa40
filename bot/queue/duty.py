"""What only one process at a time may do: done here while this process has the duty, stood by for otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from bot import log
from bot.errors import Lost
from bot.store import Store, duties
from bot.store.fence import FencedStore

_log = log.get("queue")


class Duty:
    """A duty of one process. What is written under it goes through `store`, which refuses once it is another's.

    `alone`: there is nobody whom it could move to, and nothing to tell.
    """

    def __init__(self, store: Store, name: str, owner: str, *, alone: bool = False) -> None:
        self.name = name
        self.store: Store = FencedStore(store, lambda session: duties.held(session, name, owner), f"the duty `{name}`")
        self._alone = alone
        self._has = asyncio.Event()
        self._has_not = asyncio.Event()
        self._has_not.set()

    @property
    def held(self) -> bool:
        """Whether this process has it, as far as it knows."""
        return self._has.is_set()

    def note(self, *, held: bool) -> None:
        """What the database says about it."""
        if held == self._has.is_set():
            return
        if not self._alone:
            _log.info("duty_taken" if held else "duty_left", duty=self.name)
        on, off = (self._has, self._has_not) if held else (self._has_not, self._has)
        off.clear()
        on.set()

    async def follow(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do `work` as long as the duty is held here, again whenever it comes back, until cancelled.

        Where it is lost, `work` is cancelled. Raises what `work` raises by itself, `Lost` excepted.
        """
        while True:
            await self._has.wait()
            doing = asyncio.create_task(work(), name=f"duty {self.name}")
            losing = asyncio.create_task(self._has_not.wait())
            try:
                await asyncio.wait({doing, losing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                losing.cancel()
                doing.cancel()
                await asyncio.wait({doing})
            if doing.cancelled():
                continue
            error = doing.exception()
            if error is None and self.held:
                return
            if error is not None and not _is_lost(error):
                raise error
            self.note(held=False)


def _is_lost(error: BaseException) -> bool:
    """Whether it says that the duty is another's, also where several tasks of a group found out."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(Lost)[1] is None
    return isinstance(error, Lost)
