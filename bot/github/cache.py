"""A mapping that forgets what was used longest ago, so that nothing kept in memory grows for ever."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """At most `limit` units; an entry weighs one unit unless `put` says otherwise.

    An entry heavier than the whole limit is not kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value, which counts as used now; None where there is none."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Keep a value and drop the oldest ones until everything fits."""
        self.pop(key)
        self._entries[key] = (value, weight)
        self._used += weight
        while self._used > self._limit:
            _, (_, dropped) = self._entries.popitem(last=False)
            self._used -= dropped

    def pop(self, key: K) -> None:
        """Forget a key; nothing happens where it is unknown."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._used -= entry[1]
