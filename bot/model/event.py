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
    "pull_request_review": frozenset({"submitted", "edited", "dismissed"}),
    "pull_request_review_comment": frozenset({"created", "edited", "deleted"}),
    "pull_request": frozenset(
        {"opened", "edited", "closed", "reopened", "labeled", "synchronize", "ready_for_review", "unlocked"}
    ),
    # what a `wait` step may wait for besides, and what failed checks start
    "check_run": frozenset({"completed"}),
    "check_suite": frozenset({"completed"}),
    # has no actions
    "push": frozenset({""}),
    # what ends or moves everything that is under way in it
    "repository": frozenset({"renamed", "transferred", "deleted", "archived", "unarchived"}),
    "installation": frozenset({"deleted", "suspend", "unsuspend"}),
    "installation_repositories": frozenset({"removed"}),
}
#: events of an account, which name no repository of their own
INSTALLATION_EVENTS = frozenset({"installation", "installation_repositories"})


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
class Notice:
    """Something happened to a repository or an installation, and to no thread of its own.

    `name` and `action` are GitHub's (`installation`, `deleted`; an event without actions has none). `repositories` are
    those it names; empty for an installation means all of its own. `fields` are flat: `ref`, `before`, `after`, `from`.
    """

    name: str
    action: str
    at: datetime
    sender: Account
    installation_id: int
    repositories: tuple[Repository, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PullState:
    """What a payload tells about the pull request that an event is on. `head_repository` is None where it is gone."""

    head: str
    head_sha: str
    base: str
    author: Account
    draft: bool = False
    merged: bool = False
    head_repository: int | None = None


@dataclass(frozen=True, slots=True)
class ReviewState:
    """What a payload tells about a review. `state` is GitHub's word in lower case: approved, changes_requested, …"""

    id: int
    state: str
    commit: str = ""


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
    #: what `text` stands in; a `schedule` has no text of anybody's
    subject: Literal["comment", "issue", "review", "review_comment", "schedule"] = "comment"
    #: set on events that carry the pull request itself: `pull_request`, reviews and review comments
    pull: PullState | None = None
    review: ReviewState | None = None
