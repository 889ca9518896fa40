"""A trial: a run with a branch's configuration, which is given no secret and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: where a dispatch keeps it, in the namespace `trigger`
KEY = "trial"
#: the note beside what was left out
NOTE = "a trial writes nothing"


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried, and what binds it besides the branch's own file.

    `role` is the least that the default branch asks of whoever may do this. `usd`, `tokens` and `minutes` are what the
    default branch lets one run spend; None where it sets no limit.
    """

    branch: str
    commit: str
    role: str
    usd: float | None = None
    tokens: int | None = None
    minutes: float | None = None

    def to_row(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, trigger: Mapping[str, Any]) -> Trial:
        """The one that a dispatch keeps."""
        return cls(**trigger[KEY])

    def __str__(self) -> str:
        return f"tried from {self.branch} at {self.commit[:7]}, nothing written"
