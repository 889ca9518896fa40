"""What an agent did with its tools, as the run context keeps it: the engine's own list, in no model's words. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby

from bot.model.ident import compact
from bot.model.outcome import ToolCall
from bot.store.run_context import Written
from bot.store.tables import Attempt

SUMMARY = "episode_summary"
SUMMARIES = "episode_summaries"
#: lines of a list; what lies between head and tail is counted
LINES_MAX = 100


def summary(episode: Sequence[ToolCall]) -> str:
    """The tools in the order in which their calls ended, with how they went; equal ones in a row stand once."""
    lines = []
    for (tool, how), calls in groupby(episode, lambda call: (call.tool, call.how)):
        count = len(list(calls))
        lines.append(f"{tool}: {how.replace('_', ' ')}" + (f" ({count} times)" if count > 1 else ""))
    if len(lines) > LINES_MAX:
        half = LINES_MAX // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} lines left out …", *lines[-half:]]
    return "\n".join(lines) or "no tool was called"


def episodes(episode: Sequence[ToolCall], attempt: Attempt, values: Iterable[Written]) -> dict[str, str]:
    """What an agent's attempt puts into the run context: its list, and a JSON array of those of all its step's.

    `values` is the run context before it; the array holds one text an attempt of the step in its frame, oldest first.
    """
    own = summary(episode)
    earlier: list[str] = []
    for value in values:
        if (value.frame_id, value.step, value.key) == (attempt.frame_id, attempt.step, SUMMARIES):
            earlier = json.loads(value.text)
    return {SUMMARY: own, SUMMARIES: compact([*earlier, own])}
