"""What a look at an episode found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Verdict:
    """`lost`, `doubled` and what is `odd` besides are sentences, one for each."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    dispatches: int = 0
    #: runs by how they ended
    ends: Counter[str] = field(default_factory=Counter)

    @property
    def faults(self) -> list[str]:
        return [*self.lost, *self.doubled, *self.odd]

    def counts(self, words: str, found: int, wanted: int) -> None:
        """Note what is there more or less often than it should be."""
        if found != wanted:
            (self.lost if found < wanted else self.doubled).append(words)
