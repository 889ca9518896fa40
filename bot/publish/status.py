"""What a run's status comment says: where it stands, and at the end one line that leads to the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bot.publish.body import inline_code, stack
from bot.publish.footer import dollars, duration, plain

Mark = Literal["done", "failed", "skipped", "running", "asks", "stopped", "ahead"]

_MARKS: dict[Mark, str] = {
    "done": "✅ ",
    "failed": "❌ ",
    "skipped": "⏭️ ",
    "running": "⏳ ",
    "asks": "✋ ",
    "stopped": "✖️ ",
    "ahead": "",
}
#: steps that are named; of longer runs those around the place where it stands
_MOST = 16
_BEFORE = 5


@dataclass(frozen=True, slots=True)
class StepState:
    """One step of the root frame as people see it. `note` is how long it took, who answered, or how far it is."""

    name: str
    mark: Mark
    note: str = ""

    def __str__(self) -> str:
        note = f" ({plain(self.note)})" if self.note else ""
        return f"{_MARKS[self.mark]}{plain(self.name)}{note}"


def status_body(
    *, run: int, workflow: str, where: str, cost: float | None, steps: Sequence[StepState], url: str, handle: str
) -> str:
    """A run that is under way. `where` is its state in words; `url` leads to its page, empty where there is none."""
    spent = f" · {dollars(cost)} so far" if cost else ""
    head = f"r{run} {inline_code(workflow)} · {where}{spent}"
    follow = [f"[follow]({url})"] if url else []
    foot = " · ".join([*follow, inline_code(f"{handle} cancel r{run}")])
    return stack(head, step_line(steps) or None, f"<sub>{foot}</sub>")


def step_line(steps: Sequence[StepState]) -> str:
    """The steps on one line; of a long run what lies far behind and far ahead is counted."""
    if len(steps) <= _MOST:
        return " · ".join(map(str, steps))
    stands = next((i for i, step in enumerate(steps) if step.mark in ("running", "asks", "ahead")), len(steps) - 1)
    first = max(0, min(stands - _BEFORE, len(steps) - _MOST))
    last = first + _MOST
    pieces = [f"{first} before" if first else "", *map(str, steps[first:last])]
    pieces.append(f"{len(steps) - last} more" if last < len(steps) else "")
    return " · ".join(filter(None, pieces))


def closed_status_body(
    *, run: int, workflow: str, ended: str, seconds: float | None, cost: float | None, url: str
) -> str:
    """The same comment when the run is over: one line. `ended` is how, `url` where the result stands."""
    pieces = [
        f"r{run} {inline_code(workflow)}",
        ended + (f" after {duration(seconds)}" if seconds is not None else ""),
        dollars(cost) if cost else "",
        f"[see there]({url})" if url else "",
    ]
    return " · ".join(filter(None, pieces))
