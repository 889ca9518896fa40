"""What came in: deliveries, threads with their comments and pins, configuration snapshots, dispatches."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field

from bot.model.ident import new_id
from bot.model.state import DeliveryState, DispatchState
from bot.store.columns import instant, moment, state
from bot.store.tables.row import Row


class Delivery(Row, table=True):
    """One webhook request, kept byte for byte. Two identities: (app, GUID) and the content."""

    __table_args__ = (
        UniqueConstraint("app_id", "guid"),
        Index("ix_delivery_open", "state", "origin", "not_before"),
        Index("ix_delivery_thread", "repository_id", "number"),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    app_id: int = Field(sa_type=BigInteger)
    guid: str
    content_key: str = Field(unique=True)
    event: str
    action: str
    repository_id: int = Field(sa_type=BigInteger)
    #: the comment it is about, once it was looked at: should that be deleted, the body is purged
    comment_id: int | None = Field(default=None, sa_type=BigInteger, index=True)
    #: the issue or pull request whose text it holds, once it was looked at: the same for all of it
    number: int | None = None
    headers: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    body: bytes = Field(sa_type=LargeBinary)
    received_at: datetime = instant()
    #: `webhook`; `log` where GitHub's log of deliveries told of it, `scan` where the thread did: neither is signed
    origin: str = Field(default="webhook", sa_column_kwargs={"server_default": "webhook"})
    state: DeliveryState = state(DeliveryState.NEW)
    reason: str = ""
    not_before: datetime | None = moment()
    #: when GitHub first did not answer; how long it is asked again is said in `bot.model.patience`
    trying_since: datetime | None = moment()
    #: the process that looks at it, noted only where one before it ended with deliveries unsettled
    looked_by: str | None = None
    #: processes that ended while they looked at it alone
    interruptions: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class Thread(Row, table=True):
    """An issue or pull request. Keyed by repository id and number; names are attributes that may change."""

    __table_args__ = (UniqueConstraint("repository_id", "number"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    repository_id: int = Field(sa_type=BigInteger)
    number: int
    issue_id: int = Field(sa_type=BigInteger)
    installation_id: int = Field(sa_type=BigInteger)
    owner_id: int = Field(sa_type=BigInteger)
    owner: str
    name: str
    default_branch: str
    private: bool = False
    is_pull_request: bool = False
    branch: str | None = None
    slug: str | None = None
    paused: bool = False
    #: who paused it (`stop`), and when
    paused_by: str = ""
    paused_at: datetime | None = moment()
    breaker_until: datetime | None = moment()
    #: why nothing can be said in it any more: deleted, transferred, app_removed, … Empty as long as it can
    gone: str = ""
    #: when that was: what is told later and happened before does not begin it again
    gone_at: datetime | None = moment()
    next_sequence: int = 1
    next_run: int = 1


class CommentVersion(Row, table=True):
    """Every text of every comment that we were told of or read. `comment_id` 0 is the issue's own body."""

    __table_args__ = (
        UniqueConstraint("thread_id", "comment_id", "updated_at", "digest"),
        Index("ix_comment_version_thread", "thread_id", "created_at"),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    thread_id: str = Field(foreign_key="thread.id")
    comment_id: int = Field(sa_type=BigInteger)
    author_id: int = Field(sa_type=BigInteger)
    author: str
    author_type: str = "User"
    role: str | None = None
    body: str
    digest: str
    url: str = ""
    created_at: datetime = instant()
    updated_at: datetime = instant()
    seen_at: datetime = instant()
    deleted_at: datetime | None = moment()
    minimized: bool = False
    app_id: int | None = Field(default=None, sa_type=BigInteger)
    #: comment, review, review_comment
    kind: str = "comment"
    #: of a review comment: path, line, side, hunk, and the id of the comment that begins its thread
    place: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    #: the slot it fills, for comments of our own
    slot: str | None = None


class Pin(Row, table=True):
    """A comment that every later step on its thread sees. `comment` holds it as it stood when it was pinned."""

    __table_args__ = (UniqueConstraint("thread_id", "comment_id", "native"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    thread_id: str = Field(foreign_key="thread.id")
    comment_id: int = Field(sa_type=BigInteger)
    native: bool = False
    pinned_by_id: int = Field(sa_type=BigInteger)
    pinned_by: str
    pinned_by_role: str | None = None
    pinned_at: datetime = instant()
    comment: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)


class Snapshot(Row, table=True):
    """The configuration files of a repository at a commit: immutable, shared by all runs.

    Where it extends another, `commit` is `<its own>+<the base's>`, and the base's files are among `files`.
    """

    __table_args__ = (UniqueConstraint("repository_id", "commit"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    repository_id: int = Field(sa_type=BigInteger)
    commit: str
    files: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    created_at: datetime = instant()


class Schedule(Row, table=True):
    """A workflow that the default branch wants run at certain times (`on: {schedule: …}`)."""

    __table_args__ = (UniqueConstraint("repository_id", "workflow"), Index("ix_schedule_due", "next_at"))

    id: str = Field(default_factory=new_id, primary_key=True)
    repository_id: int = Field(sa_type=BigInteger)
    installation_id: int = Field(sa_type=BigInteger)
    #: the repository as last seen, as `model.codec` writes it
    repository: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    workflow: str
    cron: str
    #: the number of the thread it runs on; None opens a new one each time
    thread: int | None = None
    #: the configuration it was read from
    commit: str = ""
    next_at: datetime = instant()


class Dispatch(Row, table=True):
    """One accepted request to run a workflow on a thread."""

    __table_args__ = (
        UniqueConstraint("delivery_id", "ordinal"),
        UniqueConstraint("thread_id", "sequence"),
        Index("ix_dispatch_state", "state"),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    thread_id: str = Field(foreign_key="thread.id")
    #: its row goes after 90 days, when nobody can send it again
    delivery_id: str
    #: which mention of the delivery, from 0
    ordinal: int = 0
    sequence: int
    snapshot_id: str = Field(foreign_key="snapshot.id")
    actor_id: int = Field(sa_type=BigInteger)
    actor: str
    actor_role: str
    #: the comment that asked, None for the issue's body
    comment_id: int | None = Field(default=None, sa_type=BigInteger)
    #: how many comments the thread had, as the payload said
    comment_count: int = 0
    request: str
    command: str
    params: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    #: the run's declared inputs as bound: checked and typed, once
    inputs: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    #: values of the `trigger` and `issue` namespaces
    trigger: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    issue: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    depth: int = 0
    #: what `comment_id` names: comment, review, review_comment
    target_kind: str = "comment"
    #: the review comment that begins the thread which is answered in
    reply_to: int | None = Field(default=None, sa_type=BigInteger)
    #: `try`: the configuration is a branch's; nothing is written and no secret is given
    trial: bool = False
    state: DispatchState = state(DispatchState.QUEUED)
    reason: str = ""
    created_at: datetime = instant()
