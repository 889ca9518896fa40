"""Payloads of pull requests: the thread, its branches, and when it happened.

Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.github import parse
from bot.model.event import PullState
from bot.model.thread import Issue

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PullTold:
    """What one payload tells. `fields` are flat: `sha` and `ref` of the head; of one that was merged its commit."""

    at: datetime
    issue: Issue
    pull: PullState
    text: str
    fields: dict[str, str]


def pull_request(action: str, payload: Payload) -> PullTold:
    """A pull request that was opened, edited, closed, labeled, pushed to, … Raises `Unreadable`."""
    data = payload.get("pull_request")
    if not isinstance(data, Mapping):
        raise parse.Unreadable("no pull request")
    # in a payload of this event nothing else says that it is one
    issue, pull = parse.issue({**data, "pull_request": {"url": ""}}), pull_state(data)
    at = {"opened": issue.created_at, "closed": _closed_at(data)}.get(action) or issue.updated_at
    fields = {"sha": pull.head_sha, "ref": pull.head}
    return PullTold(
        at=at,
        issue=issue,
        pull=pull,
        text=issue.body if action in ("opened", "edited") else "",
        fields={key: value for key, value in fields.items() if value},
    )


def pull_state(data: Mapping[str, Any]) -> PullState:
    """What a payload's `pull_request` tells about its branches and its author. Raises `Unreadable`."""
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


def merge_commit(payload: Payload) -> str:
    """The commit that a merge made; empty where there is none."""
    return _text(_part(payload, "pull_request"), "merge_commit_sha")


def _closed_at(data: Mapping[str, Any]) -> datetime | None:
    at = data.get("merged_at") or data.get("closed_at")
    return parse.timestamp(at) if at else None


def _part(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = data.get(key)
    return part if isinstance(part, Mapping) else {}


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
