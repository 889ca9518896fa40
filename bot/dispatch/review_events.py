"""Payloads of reviews and review comments: the pull request, what was said, and where.

Sources: https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request_review,
#pull_request_review_comment
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.dispatch.pull_events import Payload, Told, thread
from bot.github import parse
from bot.model.event import ReviewState


def review(action: str, payload: Payload) -> Told:
    """A review that was submitted, edited or dismissed. Raises `Unreadable`.

    Its `updated_at` is that of the pull request where GitHub names none: a review has no time of its last edit.
    """
    (issue, pull), data = thread(payload), payload.get("review")
    said = parse.comment(data, "review")
    assert isinstance(data, Mapping), "what is no object cannot be read"
    changed = max(said.updated_at, issue.updated_at)
    said = replace(said, updated_at=changed if action == "edited" else said.created_at)
    state = data.get("state")
    commit = data.get("commit_id")
    return Told(
        at=said.created_at if action == "submitted" else changed,
        issue=issue,
        pull=pull,
        comment=said,
        text="" if action == "dismissed" else said.body,
        review=ReviewState(
            said.id, state.lower() if isinstance(state, str) else "", commit if isinstance(commit, str) else ""
        ),
    )


def review_comment(action: str, payload: Payload) -> Told:
    """A comment on lines of the diff that was created, edited or deleted. Raises `Unreadable`."""
    issue, pull = thread(payload)
    said = parse.comment(payload.get("comment"), "review_comment")
    match action:
        case "created":
            at, text = said.created_at, said.body
        case "edited":
            at, text = said.updated_at, said.body
        case _:
            at, text = max(said.updated_at, issue.updated_at), ""
    return Told(at, issue, pull, text, said)
