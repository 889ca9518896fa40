"""What a delivery means to us, normalised from the payload's shape of each webhook event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from bot.model.thread import Account, Comment, Issue, Repository

#: Events and their actions that the bot acts on; the front door stores no others.
HANDLED: Mapping[str, frozenset[str]] = {
    "issue_comment": frozenset({"created", "edited", "deleted", "pinned", "unpinned"}),
    "issues": frozenset(
        {"opened", "edited", "deleted", "transferred", "closed", "reopened", "labeled", "unlabeled"}
        | {"locked", "unlocked"}
    ),
    # what a `wait` step may wait for besides
    "pull_request": frozenset({"closed", "labeled"}),
    "check_run": frozenset({"completed"}),
    "check_suite": frozenset({"completed"}),
}


@dataclass(frozen=True, slots=True)
class Signal:
    """Something happened that a run may wait for, and nothing that anybody could ask for.

    `event` is its name in `wait: {event: …}`; `numbers` are the threads that it happened on; `at` is GitHub's time of
    it. `sha` is the commit of a check. `fields` are flat: `label`, `sha`, `conclusion`, `comment_id`, `actor`, `url`,
    those that the event has. `app_id` is the App whose check it is.
    """

    event: Literal["labeled", "merged", "comment", "checks_completed"]
    at: datetime
    sender: Account
    repository: Repository
    installation_id: int
    numbers: tuple[int, ...]
    fields: Mapping[str, str]
    sha: str = ""
    app_id: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event on a thread.

    `name` and `action` are GitHub's (`issue_comment`, `created`). `text` is what may hold a mention: the comment's body
    or, on `opened`, the issue's body. `old_text` is the text before an edit. `sender` is who caused the event: only the
    sender's role decides about a command, never the author of the text.
    """

    name: str
    action: str
    at: datetime
    sender: Account
    repository: Repository
    installation_id: int
    issue: Issue
    comment: Comment | None = None
    text: str = ""
    old_text: str | None = None
    #: flat extras of the event that templates may name: label, sha, ref, conclusion, cron
    fields: dict[str, str] = field(default_factory=dict)
    subject: Literal["comment", "issue"] = "comment"
