"""What was done: runs with their frames, attempts, gates, values, artifacts, exports, spend, and bytes by digest."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field

from bot.model.ident import new_id
from bot.model.state import ArtifactState, AttemptState, GateState, RunState
from bot.store.columns import instant, moment, state
from bot.store.tables.row import Row


class Run(Row, table=True):
    """The execution of a dispatch. A queued row is its own queue entry; the lease says who holds it."""

    __table_args__ = (
        UniqueConstraint("thread_id", "number"),
        Index("ix_run_queue", "state", "queued_at"),
        Index("ix_run_thread", "thread_id", "state", "sequence"),
        Index("ix_run_purge", "purged_at", "ended_at"),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    dispatch_id: str = Field(foreign_key="dispatch.id", index=True)
    thread_id: str = Field(foreign_key="thread.id")
    snapshot_id: str = Field(foreign_key="snapshot.id")
    #: people see r<number>, counted per thread
    number: int
    sequence: int
    workflow: str
    retry_of: str | None = None
    state: RunState = state(RunState.QUEUED)
    reason: str = ""
    #: 1 for a run that goes on (after a gate, a transient fault, a crash): ahead of its thread's queue
    front: int = 0
    not_before: datetime | None = moment()
    #: the process that holds it, as long as that lives (table `process`)
    lease_owner: str | None = None
    #: one death interrupted it together with others, and it has not come to rest since: nothing runs beside it
    suspect: bool = False
    cancelled_by: str | None = None
    #: the thread as it stood for this run's anchor (blob digest)
    thread_blob: str | None = None
    queued_at: datetime = instant()
    started_at: datetime | None = moment()
    #: seconds that it waited for people or events since it started, and since when it does so now
    waited: float = 0.0
    waiting_since: datetime | None = moment()
    ended_at: datetime | None = moment()
    #: when its bytes went (prompts, results, texts), `BOT_KEEP_DAYS` after its end
    purged_at: datetime | None = moment()
    #: whether they go sooner is to be looked at, at its end: since when. A comment that it may have seen was deleted
    purge_at: datetime | None = moment(index=True)
    #: when its status was last told; far in the future where nobody wants to know
    status_at: datetime | None = moment(index=True)

    def worked(self, until: datetime) -> float:
        """Seconds from its start until then; what it waited is the time of others, and left out."""
        if self.started_at is None:
            return 0.0
        waits = (until - self.waiting_since).total_seconds() if self.waiting_since is not None else 0.0
        return max(0.0, (until - self.started_at).total_seconds() - self.waited - max(0.0, waits))


class Frame(Row, table=True):
    """One level of a run's nesting; the root has no parent."""

    id: str = Field(default_factory=new_id, primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    parent_id: str | None = Field(default=None, foreign_key="frame.id")
    #: `/` for the root, then `/<step>[<key>]#<iteration>` for each level
    path: str = "/"
    step: str | None = None
    key: str | None = None
    iteration: int = 0
    cursor: str | None = None
    #: the attempt in the parent frame that opened it; none for the root (an attempt refers to its frame already)
    attempt_id: str | None = None
    #: its turn among the frames that the attempt opened: the declared order
    place: int = 0
    #: the workflow that a `uses` frame runs, and what it is given: `{"inputs": …}`
    workflow: str | None = None
    given: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    #: the element of an `each` frame, by its name: `{"item": …}`
    item: dict[str, Any] | None = Field(default=None, sa_type=JSON)


class Attempt(Row, table=True):
    """One execution of a step, recorded before it starts."""

    __table_args__ = (UniqueConstraint("frame_id", "step", "number"), Index("ix_attempt_ended", "ended_at"))

    id: str = Field(default_factory=new_id, primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    frame_id: str = Field(foreign_key="frame.id")
    step: str
    kind: str
    number: int
    iteration: int = 0
    state: AttemptState = state(AttemptState.RUNNING)
    #: of one that a retry took over: the attempt of the earlier run. It was paid and posted there
    taken_from: str | None = None
    started_at: datetime = instant()
    ended_at: datetime | None = moment()
    #: a retry does not start before this
    not_before: datetime | None = moment()
    output: str | None = None
    exit_code: int | None = None
    result: Any = Field(default=None, sa_type=JSON)
    error: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    #: where the walk went on after it, recorded with the outcome (see `engine.route`); empty while it runs
    route: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    #: digests of the bytes in `blob`
    streams: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    prompt_blob: str | None = None
    manifest: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    cost: float | None = None


class Gate(Row, table=True):
    """What an attempt waits for: people's answer, an event, a time, approval of a tool call."""

    id: str = Field(default_factory=new_id, primary_key=True)
    attempt_id: str = Field(foreign_key="attempt.id", unique=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    #: answer, event, time, approval, posts
    kind: str = "answer"
    question: str
    options: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    who: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    digest: str
    head_sha: str | None = None
    deadline: datetime | None = moment(index=True)
    state: GateState = state(GateState.OPEN)
    #: what the step needs to go on (blob digest): a conversation that stopped at a tool call
    kept: str | None = None
    opened_at: datetime | None = moment()
    #: which time it asks: a change of what an approval is bound to voids it, and it asks again
    asked: int = 1
    #: when people are reminded, and when they were
    remind_at: datetime | None = moment(index=True)
    reminded_at: datetime | None = moment()
    #: who changed the comment's text since it was last said; an answer to that is none
    altered_by: str = ""
    #: what is told below the question about the last answer that did not count
    note: str = ""
    answer: dict[str, Any] | None = Field(default=None, sa_type=JSON)


class Steer(Row, table=True):
    """What a person told a run that is under way (`steer`). An agent reads it at its next turn."""

    id: str = Field(default_factory=new_id, primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    text: str
    by: str
    by_id: int = Field(sa_type=BigInteger)
    comment_id: int | None = Field(default=None, sa_type=BigInteger)
    at: datetime = instant()
    #: the attempt that read it, and when
    attempt_id: str | None = Field(default=None, foreign_key="attempt.id")
    read_at: datetime | None = moment()


class Value(Row, table=True):
    """An entry of the run context, with the attempt that wrote it; the newest of a key counts."""

    __table_args__ = (Index("ix_value_newest", "run_id", "key", "step"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    frame_id: str = Field(foreign_key="frame.id")
    attempt_id: str | None = Field(default=None, foreign_key="attempt.id")
    #: the step that wrote it; empty for what the run began with
    step: str = ""
    key: str
    text: str


class Artifact(Row, table=True):
    """A file that a step produced as evidence."""

    id: str = Field(default_factory=new_id, primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    attempt_id: str = Field(foreign_key="attempt.id")
    frame_id: str | None = None
    name: str
    kind: str
    #: where it lay in the workspace; none for a step's output
    path: str | None = None
    blob: str
    state: ArtifactState = state(ArtifactState.CURRENT)


class Export(Row, table=True):
    """A run's published result, one revision a row."""

    __table_args__ = (UniqueConstraint("run_id", "revision"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    #: the frame whose workflow declares it: the root, or one that `uses` opened
    frame_id: str | None = None
    revision: int
    value: Any = Field(default=None, sa_type=JSON)
    #: the attempts whose results it was made from
    attempts: list[str] = Field(default_factory=list, sa_type=JSON)
    made_at: datetime | None = moment()
    state: ArtifactState = state(ArtifactState.CURRENT)


class Clone(Row, table=True):
    """A run's clone, for another machine to go on with: its commit, and what steps left there beside that.

    Only where several machines may work on the run's database.
    """

    run_id: str = Field(foreign_key="run.id", primary_key=True)
    repository_id: int = Field(sa_type=BigInteger)
    ref: str
    commit: str
    #: names the state of what was left; empty where nothing was
    mark: str = ""
    #: its bytes (blob digest); none where nothing was left, or too much
    blob: str | None = None


class Spend(Row, table=True):
    """What a model call cost, kept when the run's bytes are gone."""

    __table_args__ = (Index("ix_spend_repository", "repository_id", "at"), Index("ix_spend_actor", "actor_id", "at"))

    id: str = Field(default_factory=new_id, primary_key=True)
    installation_id: int = Field(sa_type=BigInteger)
    repository_id: int = Field(sa_type=BigInteger)
    thread_id: str
    actor_id: int = Field(sa_type=BigInteger)
    run_id: str = Field(index=True)
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    at: datetime = instant()


class Blob(Row, table=True):
    """Bytes by SHA-256 digest, at most 64 MiB each."""

    digest: str = Field(primary_key=True)
    data: bytes = Field(sa_type=LargeBinary)
    created_at: datetime = instant()
    #: the newest look for unused bytes when it was last kept; see `store.blobs`
    round: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
