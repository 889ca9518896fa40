"""Why the bot did nothing about a comment: told beside the comment, from the bot's own records of deliveries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType

from bot.demo.deliveries import Delivery
from bot.demo.world import World
from bot.model.state import DeliveryState
from bot.store import Session, Store, deliveries

#: between two looks at deliveries that nobody decided about yet, in seconds
_LOOK_EVERY = 0.05
#: silence that nobody wonders about: the comment did not speak to the bot, or is the bot's
_EXPECTED = frozenset({"no mention", "our own"})


class Silences:
    """Follows what becomes of comments' deliveries while it is entered, and tells live pages of each refusal."""

    def __init__(self, world: World, store: Store) -> None:
        self._world = world
        self._store = store
        self._made: asyncio.Queue[Delivery] = asyncio.Queue()
        self._reasons: dict[int, str] = {}
        self._watching: asyncio.Task[None] | None = None

    @property
    def reasons(self) -> Mapping[int, str]:
        """The reason by comment id, of comments that asked the bot for something in vain."""
        return self._reasons

    async def __aenter__(self) -> Silences:
        self._world.outgoing.append(self._offer)
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._world.outgoing.remove(self._offer)
        assert self._watching is not None
        self._watching.cancel()
        with suppress(asyncio.CancelledError):
            await self._watching

    def _offer(self, made: Delivery, _again: bool) -> None:
        if made.event == "issue_comment" and made.action in {"created", "edited"}:
            self._made.put_nowait(made)

    async def _watch(self) -> None:
        pending: list[Delivery] = []
        while True:
            if not pending:
                pending.append(await self._made.get())
            while not self._made.empty():
                pending.append(self._made.get_nowait())
            pending = [made for made in pending if not await self._decided(made)]
            await asyncio.sleep(_LOOK_EVERY)

    async def _decided(self, made: Delivery) -> bool:
        """Whether there is nothing more to wait for; what was decided is noted."""

        def look(session: Session) -> tuple[DeliveryState, str] | None:
            row = deliveries.find(session, made.guid)
            return None if row is None else (row.state, row.reason)

        found = await self._store.read(look)
        if found is None:  # not there yet, or the bot did not take the webhook
            return bool(made.attempts)
        state, reason = found
        if state is DeliveryState.NEW:
            return False
        comment = self._world.comments_by_id.get(made.payload()["comment"]["id"])
        if comment is None:
            return True
        before = self._reasons.pop(comment.id, "")
        if state is not DeliveryState.PLANNED and reason not in _EXPECTED:
            self._reasons[comment.id] = reason
        if before != self._reasons.get(comment.id, ""):
            self._world.changed("silence", comment.issue.repository, comment.issue.number, comment.id)
        return True
