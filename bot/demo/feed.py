"""What changed, as a stream for live pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType


@dataclass(frozen=True, slots=True)
class Change:
    """One change: `kind` is `comment`, `issue`, `push`, `role`, …; `number` and `comment_id` where they apply."""

    kind: str
    repository: str
    number: int | None = None
    comment_id: int | None = None


class Subscription:
    """Changes since it was made, in order: iterate it, then close it (or use it as a context manager)."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._queue: asyncio.Queue[Change | None] = asyncio.Queue()
        feed.subscriptions.add(self)

    def put(self, change: Change | None) -> None:
        """Hand over a change; None ends the stream."""
        self._queue.put_nowait(change)

    async def next(self) -> Change | None:
        """The next change; None once the feed was closed."""
        return await self._queue.get()

    async def __aiter__(self) -> AsyncIterator[Change]:
        while (change := await self._queue.get()) is not None:
            yield change

    def close(self) -> None:
        """Take no more changes."""
        self._feed.subscriptions.discard(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Feed:
    """Sends each change to every subscription."""

    def __init__(self) -> None:
        self.subscriptions: set[Subscription] = set()

    def subscribe(self) -> Subscription:
        """Listen from now on."""
        return Subscription(self)

    def publish(self, change: Change) -> None:
        """Tell all who listen."""
        for subscription in self.subscriptions:
            subscription.put(change)

    def close(self) -> None:
        """End every stream, so that a server with open pages can stop."""
        for subscription in self.subscriptions:
            subscription.put(None)
