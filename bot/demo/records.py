"""What the look-alike remembers: accounts, repositories, threads, Apps, tokens. Plain rows; rules are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from bot.demo.git import GitRepository
from bot.model.role import Role

#: longest body of an issue or comment, in characters
MAX_BODY = 65_536

#: GitHub's reactions
Content = Literal["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"]
CONTENTS: tuple[Content, ...] = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


@dataclass(slots=True, eq=False)
class User:
    """An account. `type` is GitHub's word: User, Bot or Organization."""

    id: int
    login: str
    type: str
    name: str
    created_at: datetime


@dataclass(slots=True, eq=False)
class Label:
    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(slots=True, eq=False)
class Reaction:
    id: int
    user: User
    content: Content
    created_at: datetime


@dataclass(slots=True, eq=False)
class App:
    """A GitHub App. `private_key` (PEM) is what its owner downloads; `public_key` (PEM) is what GitHub keeps."""

    id: int
    slug: str
    name: str
    owner: User
    bot: User
    client_id: str
    private_key: str
    public_key: str
    permissions: dict[str, str]
    events: list[str]
    webhook_secret: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Push:
    """A commit that came to the default branch. `after` is the newest comment's number at that time, anywhere."""

    who: User
    at: datetime
    sha: str
    message: str
    after: int


@dataclass(slots=True, eq=False)
class Repository:
    """A repository with its git directory. `roles` holds what was granted, by lower-case login."""

    id: int
    owner: User
    name: str
    private: bool
    description: str | None
    git: GitRepository
    created_at: datetime
    updated_at: datetime
    pushed_at: datetime
    default_branch: str = "main"
    has_issues: bool = True
    next_number: int = 1
    roles: dict[str, Role] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    #: what it was forked from
    parent: Repository | None = None
    #: what the thread pages show of commits, oldest first
    pushes: list[Push] = field(default_factory=list)
    #: numbers of deleted issues, which answer 410
    gone: set[int] = field(default_factory=set)
    #: where transferred issues went, by their number here: they answer 301
    moved: dict[int, Issue] = field(default_factory=dict)
    #: read only
    archived: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"


@dataclass(slots=True, eq=False)
class Issue:
    id: int
    repository: Repository
    number: int
    title: str
    body: str | None
    author: User
    created_at: datetime
    updated_at: datetime
    app: App | None = None
    state: str = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: User | None = None
    locked: bool = False
    lock_reason: str | None = None
    labels: list[Label] = field(default_factory=list)
    assignees: list[User] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    #: GitHub's own *Pin comment*: at most one an issue
    pinned: Comment | None = None
    #: who changed its text last
    edited_by: User | None = None
    #: every change of its text: when, and by whom
    edits: list[tuple[datetime, User]] = field(default_factory=list)
    #: how many of the repository's `pushes` there were when it was opened
    pushes_before: int = 0
    #: what makes it a pull request
    pull: Pull | None = None


@dataclass(slots=True, eq=False)
class Pull:
    """What a pull request has beside its issue.

    `head` and `base` are branches: of `head_repository`, and of the issue's repository. The SHAs
    are those of the newest push while it is open, and stay as they are once it is closed.
    """

    id: int
    issue: Issue
    head_repository: Repository
    head: str
    head_sha: str
    base: str
    base_sha: str
    draft: bool = False
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_commit_sha: str | None = None
    reviews: list[Review] = field(default_factory=list)
    review_threads: list[ReviewThread] = field(default_factory=list)

    @property
    def number(self) -> int:
        return self.issue.number

    @property
    def repository(self) -> Repository:
        return self.issue.repository

    @property
    def merged(self) -> bool:
        return self.merged_at is not None


#: GitHub's words for the state of a review
ReviewState = Literal["PENDING", "COMMENTED", "APPROVED", "CHANGES_REQUESTED", "DISMISSED"]
Side = Literal["LEFT", "RIGHT"]


@dataclass(slots=True, eq=False)
class Review:
    """A review of a pull request at `commit_id`."""

    id: int
    pull: Pull
    author: User
    body: str
    state: ReviewState
    commit_id: str
    submitted_at: datetime
    app: App | None = None
    reactions: list[Reaction] = field(default_factory=list)
    #: the newest comment's number at that time, anywhere: where the thread page shows it
    after: int = 0


@dataclass(slots=True, eq=False)
class ReviewThread:
    """What was said about one place of the diff. `line` is None for a comment on the whole file.

    `outdated` where the place is no longer in the diff.
    """

    id: int
    pull: Pull
    path: str
    line: int | None
    side: Side
    start_line: int | None = None
    start_side: Side | None = None
    comments: list[ReviewComment] = field(default_factory=list)
    resolved_by: User | None = None
    outdated: bool = False

    @property
    def resolved(self) -> bool:
        return self.resolved_by is not None


@dataclass(slots=True, eq=False)
class ReviewComment:
    """One message of a review thread; `hunk` is the part of the diff that it stands under."""

    id: int
    thread: ReviewThread
    review: Review
    author: User
    body: str
    commit_id: str
    hunk: str
    created_at: datetime
    updated_at: datetime
    app: App | None = None
    edited_by: User | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a check says about lines of a file; `level` is notice, warning or failure."""

    path: str
    start_line: int
    end_line: int
    level: str
    message: str
    title: str | None = None
    details: str | None = None
    start_column: int | None = None
    end_column: int | None = None


@dataclass(slots=True, eq=False)
class Check:
    """A check run of a commit; `log` is what its run of GitHub Actions printed, None for a check of another App.

    `run_id` is that of the workflow run which it is a part of, `suite_id` that of all checks of its App and commit.
    """

    id: int
    repository: Repository
    name: str
    head_sha: str
    status: str
    conclusion: str | None
    started_at: datetime
    completed_at: datetime | None
    title: str | None = None
    summary: str | None = None
    log: str | None = None
    run_id: int | None = None
    app: App | None = None
    suite_id: int = 0
    external_id: str = ""
    details_url: str | None = None
    text: str | None = None
    annotations: list[Annotation] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Comment:
    id: int
    issue: Issue
    author: User
    body: str
    created_at: datetime
    updated_at: datetime
    app: App | None = None
    #: who changed its text last
    edited_by: User | None = None
    #: every change of its text: when, and by whom
    edits: list[tuple[datetime, User]] = field(default_factory=list)
    #: why it was hidden (`spam`, `outdated`, …), None while it is shown
    minimized: str | None = None
    pinned_at: datetime | None = None
    pinned_by: User | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Installation:
    """An App on an account. `repository_ids` is None where all repositories were chosen."""

    id: int
    app: App
    account: User
    repository_ids: set[int] | None
    permissions: dict[str, str]
    created_at: datetime
    updated_at: datetime
    suspended_at: datetime | None = None
    suspended_by: User | None = None

    def holds(self, repository: Repository) -> bool:
        """Whether the repository belongs to this installation."""
        if repository.owner is not self.account:
            return False
        return self.repository_ids is None or repository.id in self.repository_ids
