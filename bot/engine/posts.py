"""What a step that acts on GitHub came to, once what it wanted was done. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.model.outcome import Failed, Outcome
from bot.model.state import OutboxState
from bot.store.tables import Outbox
from bot.workflows import Step


def posted(step: Step, rows: Sequence[Outbox], kept: bytes) -> Outcome:
    """The outcome of a step from the rows that were written for it; a failure where one of them could not be done."""
    dropped = [row for row in rows if row.state is OutboxState.DROPPED]
    if dropped:
        message = "; ".join(f"{row.action}: {row.reason}" for row in dropped)
        return Failed("github_refused", message, "The App may lack a permission, or the thing is gone.")
    raise TypeError(f"a step of kind {step.kind} posts nothing")
