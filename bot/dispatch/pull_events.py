"""Payloads of pull requests: the thread, its branches, and when it happened.

Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bot.github import parse
from bot.model.event import PullState, ReviewState
from bot.model.thread import Comment, Issue

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What one payload tells, and `at` when it happened. `comment` is a review's own text or one of its comments.

    `fields` are flat: `sha` and `ref` of the head; when it is merged, the commit that the merge made.
    """

    at: datetime
    issue: Issue
    pull: PullState
    text: str
    comment: Comment | None = None
    review: ReviewState | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


def pull_request(action: str, payload: Payload) -> Told:
    """A pull request that was opened, edited, closed, labeled, pushed to, … Raises `Unreadable`."""
    (issue, pull), data = thread(payload), payload["pull_request"]
    at = {"opened": issue.created_at, "closed": _closed_at(data)}.get(action) or issue.updated_at
    merged = _text(data, "merge_commit_sha") if action == "closed" and pull.merged else ""
    fields = {"sha": merged or pull.head_sha, "ref": pull.head}
    return Told(
        at=at,
        issue=issue,
        pull=pull,
        text=issue.body if action in ("opened", "edited") else "",
        fields={key: value for key, value in fields.items() if value},
    )


def thread(payload: Payload) -> tuple[Issue, PullState]:
    """The head of the thread, and its branches: such a payload has no issue beside it. Raises `Unreadable`."""
    data = payload.get("pull_request")
    # in such a payload nothing else says that it is one
    issue = replace(parse.issue(data), is_pull_request=True)
    assert isinstance(data, Mapping), "what is no object cannot be read"
    return issue, _state(data)


def _state(data: Mapping[str, Any]) -> PullState:
    head, base = _part(data, "head"), _part(data, "base")
    number = _part(head, "repo").get("id")
    return PullState(
        head=_text(head, "ref"),
        head_sha=_text(head, "sha"),
        base=_text(base, "ref"),
        author=parse.account(data.get("user")),
        draft=data.get("draft") is True,
        merged=data.get("merged") is True or bool(data.get("merged_at")),
        head_repository=number if isinstance(number, int) else None,
    )


def _closed_at(data: Mapping[str, Any]) -> datetime | None:
    at = data.get("merged_at") or data.get("closed_at")
    return parse.timestamp(at) if at else None


def _part(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = data.get(key)
    return part if isinstance(part, Mapping) else {}


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
