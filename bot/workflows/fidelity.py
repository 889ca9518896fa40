"""How much of the run context a prompt gets, and what an interruption makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

Fidelity = Literal["full", "summary:high", "summary:medium", "summary:low", "compact", "truncate"]

#: the run context's values cut to that many bytes each; off where it is None
InjectionCap = Annotated[int, Field(gt=0)]

#: the level of an attempt that follows an interruption
_LOWER: Mapping[Fidelity, Fidelity] = {
    "full": "summary:medium",
    "summary:high": "summary:medium",
    "summary:medium": "summary:low",
    "summary:low": "compact",
    "truncate": "compact",
    "compact": "compact",
}

#: the run context's keys at `summary:medium` and `truncate`, beside the step's `reads`
MEDIUM_KEYS = (
    *("outcome", "last_response", "human_response", "preferred_label"),
    *("tool_stdout", "tool_stderr", "graph.goal"),
)


def lower(level: Fidelity) -> Fidelity:
    """One level less, for the attempt that follows an interruption."""
    return _LOWER[level]
