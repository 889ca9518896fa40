"""One stretch of time in the life of a dispatch, for traces. It has ids and stable words, never a text of anybody's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.model.ident import digest


@dataclass(frozen=True, slots=True)
class Span:
    """`key` and `parent` name rows (`run/<id>`); `trace` is the dispatch's id, which makes its spans one trace."""

    trace: str
    key: str
    parent: str | None
    name: str
    start: datetime
    end: datetime
    attributes: Mapping[str, str | int] = field(default_factory=dict)
    failed: bool = False

    @property
    def trace_id(self) -> int:
        """128 bits, the same in every process that tells of the dispatch."""
        return int(digest("trace", self.trace)[:32], 16) or 1

    @staticmethod
    def id_of(key: str) -> int:
        """64 bits."""
        return int(digest("span", key)[:16], 16) or 1
