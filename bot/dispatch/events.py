"""Webhook payload → `Event`: what a delivery means to us."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.github import parse
from bot.model.event import HANDLED, Event
from bot.model.thread import Comment, Issue

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ignored:
    """A delivery that means nothing to us; `reason` is kept with it."""

    reason: str


def normalise(event: str, payload: Payload) -> Event | Ignored:
    """The event of a payload, or why there is none. Never raises, whatever the payload holds.

    `event` is the value of `X-GitHub-Event`. `text` is set only where it may hold a request: a comment that was created
    or edited, an issue's body when it was opened or edited; a title never. `installation_id` is 0 where the payload
    names none. Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads
    """
    read = _READERS.get(event)
    if read is None:
        return Ignored(f"unknown event {event[:64]}")
    action = payload.get("action")
    if not isinstance(action, str) or action not in HANDLED[event]:
        return Ignored(f"unknown action of {event}")
    try:
        return read(action, payload)
    except parse.Unreadable as error:
        return Ignored(f"unreadable {event}: {error}")


def _issue_comment(action: str, payload: Payload) -> Event | Ignored:
    comment = parse.comment(payload.get("comment"))
    issue = parse.issue(payload.get("issue"))
    match action:
        case "created":
            at, text = comment.created_at, comment.body
        case "edited":
            at, text = comment.updated_at, comment.body
        case "deleted":
            at, text = max(comment.updated_at, issue.updated_at), ""
        case _:
            at, text = _pinned_at(payload) or issue.updated_at, ""
    return _event("issue_comment", action, payload, at, issue, comment, text)


def _issues(action: str, payload: Payload) -> Event | Ignored:
    if "comment" in payload:
        return Ignored("a comment's body under the header of an issue")
    issue = parse.issue(payload.get("issue"))
    at = issue.created_at if action == "opened" else issue.updated_at
    text = issue.body if action in ("opened", "edited") and not _moved_in(payload) else ""
    return _event("issues", action, payload, at, issue, None, text)


_READERS: Mapping[str, Callable[[str, Payload], Event | Ignored]] = {
    "issue_comment": _issue_comment,
    "issues": _issues,
}


def _event(
    name: str, action: str, payload: Payload, at: datetime, issue: Issue, comment: Comment | None, text: str
) -> Event:
    return Event(
        name=name,
        action=action,
        at=at,
        sender=parse.account(payload.get("sender")),
        repository=parse.repository(payload.get("repository")),
        installation_id=_installation(payload),
        issue=issue,
        comment=comment,
        text=text,
        old_text=_old_text(payload, text) if action == "edited" else None,
        fields=_fields(payload),
        subject="comment" if comment else "issue",
    )


def _old_text(payload: Payload, text: str) -> str:
    """The body before an edit; the present one where something else was edited, so that nothing counts as added."""
    changes = payload.get("changes")
    if not isinstance(changes, Mapping) or "body" not in changes:
        return text
    change = changes["body"]
    old = change.get("from") if isinstance(change, Mapping) else None
    # GitHub leaves `from` out where the body was empty before
    return old if isinstance(old, str) else ""


def _moved_in(payload: Payload) -> bool:
    """Whether an issue was opened by a transfer: what its body asks for was asked in the repository it came from."""
    changes = payload.get("changes")
    return isinstance(changes, Mapping) and "old_issue" in changes


def _fields(payload: Payload) -> dict[str, str]:
    label = payload.get("label")
    name = label.get("name") if isinstance(label, Mapping) else None
    return {"label": name} if isinstance(name, str) else {}


def _installation(payload: Payload) -> int:
    installation = payload.get("installation")
    number = installation.get("id") if isinstance(installation, Mapping) else None
    return number if isinstance(number, int) else 0


def _pinned_at(payload: Payload) -> datetime | None:
    """When a comment was pinned; None for `unpinned`, where the payload no longer has it."""
    comment = payload.get("comment")
    pin = comment.get("pin") if isinstance(comment, Mapping) else None
    at = pin.get("pinned_at") if isinstance(pin, Mapping) else None
    return parse.timestamp(at) if at else None
