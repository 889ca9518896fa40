"""What it takes to do one kind of action: how it is done, and how it is found again when no answer came.

| how it is found again       | actions                                                                          |
|-----------------------------|----------------------------------------------------------------------------------|
| `find` looks for our marker | a comment, in the conversation or below a review comment; a review               |
| `again`: doing it twice is  | a reaction, an edit, labels, assignees, closing: GitHub keeps a set or a state;  |
| doing it once               | a pull request, which is looked for by its head branch before it is opened       |
| neither: it is not repeated | a webhook: it is dropped as `unsure`, since it may have arrived                  |
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.errors import BotError
from bot.model.slot import Slot
from bot.store.outbox import Saying
from bot.store.tables import Outbox, Thread

#: the reason of what is dropped because it may have been done, and doing it twice would be worse
UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Act:
    """One row that is being done, and the thread it belongs to."""

    row: Outbox
    thread: Thread

    @classmethod
    def of(cls, saying: Saying) -> Act:
        return cls(saying.row, saying.thread)

    @property
    def slot(self) -> Slot:
        """The row's identity."""
        return Slot.parse(self.row.slot)

    @property
    def payload(self) -> dict[str, Any]:
        """An intent's payload after the policy."""
        parsed: dict[str, Any] = json.loads(self.row.body)
        return parsed


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of it. `outcome` is JSON for the step that waits; `id` and `url` name what stands on GitHub.

    `calls` says how many writes it took, so that the pace counts them all.
    """

    outcome: dict[str, Any] = field(default_factory=dict)
    id: int | None = None
    url: str = ""
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """Something of ours that fills the slot. `intact`: it says what the row says now."""

    made: Made
    intact: bool = True


class Undone(BotError):
    """It was not done and never will be: `reason` is a stable word, or a sentence; `outcome` what the step may know."""

    def __init__(self, reason: str, outcome: dict[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.outcome = outcome


class Untargeted(BotError):
    """What it was to reply to is gone, or takes no replies: it is to be said in the conversation instead."""


@dataclass(frozen=True, slots=True)
class Performer:
    """How one kind of action is done.

    `do` raises the errors of `bot.errors`: `Unsure` where it may have happened, `Undone` where it must not be done,
    `Untargeted` where it is to be said elsewhere.
    `find` gives what of ours fills the row's slot since a time, oldest first; `again` is whether the action may simply
    be done once more. With neither it is never repeated. `take_back` deletes what was done twice, where that can be.
    """

    do: Callable[[Act], Awaitable[Made]]
    find: Callable[[Act, datetime], Awaitable[list[Found]]] | None = None
    again: Callable[[Act], bool] = lambda _act: False
    take_back: Callable[[Act, int], Awaitable[None]] | None = None
