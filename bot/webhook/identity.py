"""The content identity of a delivery: the same request sent again under another GUID or header is the same request.

The signature covers only the body, so nothing here looks at a header (docs: data, *Identities*).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bot.model.ident import digest

#: Keys under which a payload holds what it is about, the innermost first.
_SUBJECTS = (
    "comment",
    "review",
    "issue",
    "pull_request",
    "discussion",
    "check_run",
    "check_suite",
    "workflow_job",
    "workflow_run",
    "deployment_status",
    "deployment",
    "release",
    "milestone",
)
#: The event that GitHub sends for a subject, by its key and, for a comment, by what it stands in.
_EVENTS = {"review": "pull_request_review", "issue": "issues"}
_COMMENTS = {
    "issue": "issue_comment",
    "pull_request": "pull_request_review_comment",
    "discussion": "discussion_comment",
}


_PUSH = ("ref", "before", "after")
#: What happens to a subject once in its life, by kind: however often it is told, and by whom, it is the same. A thread
#: that is read does not show what else a webhook would have told.
_ONCE = {"issue_comment": "created", "issues": "opened", "pull_request": "opened"}


def subject(payload: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Kind and object of what the payload is about; the kind is the name of the event whose bodies look like that.

    A push is its own subject, an event of an installation or of a repository is about that. None where no known key
    holds an object with a numeric id.
    """
    for key in _SUBJECTS:
        found = payload.get(key)
        if isinstance(found, dict) and isinstance(found.get("id"), int):
            if key != "comment":
                return _EVENTS.get(key, key), found
            place = next((name for name in _COMMENTS if isinstance(payload.get(name), dict)), None)
            return _COMMENTS[place] if place else "commit_comment", found
    # a push has no subject with an id, and no action
    if all(isinstance(payload.get(key), str) for key in _PUSH) and isinstance(payload.get("commits"), list):
        return "push", payload
    for key in ("repository", "installation") if "ref" not in payload else ():
        found = payload.get(key)
        if isinstance(found, dict) and isinstance(found.get("id"), int):
            return "installation_repositories" if "repositories_removed" in payload else key, found
    return None


def repository_id(payload: Mapping[str, Any]) -> int | None:
    """GitHub's numeric id of the repository, None where the payload names none that 64 bits hold."""
    repository = payload.get("repository")
    number = repository.get("id") if isinstance(repository, dict) else None
    return number if isinstance(number, int) and 0 < number < 1 << 63 else None


def content_key(payload: Mapping[str, Any]) -> str:
    """The content identity, 64 hex digits.

    Made of the repository's id, the action, kind and id of the subject; nothing more where that is how a comment or a
    thread began. Else also of its `updated_at`, and a digest of text, label, assignee, changes and, of a pull request
    that was pushed to, the commit; and of the sender's id, as two people may tick one box within a second. Pinning does
    not touch the comment's own `updated_at`, so the time of the pin and the issue's `updated_at` count too, else the
    second of two pins would be lost; so does a pull request's for a review, which has no time of its own edits. Of a
    push: branch, commits and time. Without a repository or subject it is a digest of the whole payload.
    """
    about = subject(payload)
    repository = repository_id(payload)
    if about is None or repository is None:
        return digest("body", _canonical(payload))
    kind, found = about
    if kind == "push":
        pushed = payload["repository"].get("pushed_at")
        return digest(repository, kind, *(found[key] for key in _PUSH), _text(pushed))
    action = _text(payload.get("action"))
    if kind in _ONCE and action == _ONCE[kind]:
        return digest(repository, action, kind, found["id"])
    sender = payload.get("sender")
    pin, issue = found.get("pin"), payload.get("pull_request" if kind == "pull_request_review" else "issue")
    return digest(
        repository,
        action,
        kind,
        found["id"],
        _text(sender.get("id")) if isinstance(sender, dict) else None,
        # a check has no `updated_at`, and may end more than once; a review was submitted
        _text(found.get("updated_at") or found.get("completed_at") or found.get("submitted_at")),
        _text(issue.get("updated_at")) if isinstance(issue, dict) else None,
        _text(pin.get("pinned_at")) if isinstance(pin, dict) else None,
        _text(found.get("title")),
        _text(found.get("body")),
        *(_canonical(payload[key]) if key in payload else None for key in ("label", "assignee", "changes")),
        # two pushes within a second leave the pull request's `updated_at` as it is
        *(_text(payload[key]) for key in ("after",) if key in payload),
    )


def _text(value: object) -> str | None:
    """The value if it is text, its JSON if it is anything else, None for null."""
    return value if value is None or isinstance(value, str) else _canonical(value)


def _canonical(value: object) -> str:
    """JSON that does not depend on the order of keys: GitHub's delivery log returns a payload, not its bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
