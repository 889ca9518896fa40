"""What a step that acts on GitHub came to, once what it wanted was done. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.model.outcome import Outcome
from bot.model.state import OutboxState
from bot.steps import not_done, notify_result, pull_request_result, review_result
from bot.store.tables import Outbox
from bot.workflows import Step
from bot.workflows.github_steps import NotifyStep, PullRequestStep, ReviewStep


def posted(step: Step, rows: Sequence[Outbox], kept: bytes) -> Outcome:
    """The outcome of a step from the rows that were written for it; a failure where one of them could not be done."""
    for row in rows:
        if row.state is OutboxState.DROPPED:
            return not_done(row.action, row.reason, row.outcome)
    match step:
        case NotifyStep():
            return notify_result([(row.action, row.outcome or _comment(row)) for row in rows])
        case ReviewStep():
            return review_result(rows[0].outcome or {}, kept)
        case PullRequestStep():
            return pull_request_result(rows[0].outcome or {}, kept)
    raise TypeError(f"a step of kind {step.kind} posts nothing")


def _comment(row: Outbox) -> dict[str, Any]:
    """What was made of a comment: its row says so itself."""
    return {"id": row.posted_id, "url": row.url}
