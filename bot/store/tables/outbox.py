"""What is to be said on GitHub, once per slot."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index
from sqlmodel import Field

from bot.model.ident import new_id
from bot.model.state import OutboxState
from bot.store.columns import instant, moment, state
from bot.store.tables.row import Row


class Outbox(Row, table=True):
    """One thing to say. `slot` is its identity: whatever is retried, it is said once."""

    __table_args__ = (
        Index("ix_outbox_open", "state", "not_before"),
        Index("ix_outbox_next", "state", "priority", "id"),
        Index("ix_outbox_thread", "thread_id", "state"),
        Index("ix_outbox_posted", "posted_at"),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    slot: str = Field(unique=True)
    thread_id: str = Field(foreign_key="thread.id")
    run_id: str | None = Field(default=None, foreign_key="run.id", index=True)
    #: comment, reaction, or a kind of `Intent` whose payload is `body` as JSON
    action: str
    #: what of ours a comment is: result, error, command, index, cancelled (decides the window and the order)
    purpose: str
    #: the comment's text before policy, footer and marker are final; a reaction's content
    body: str
    digest: str
    #: for a reaction: the comment reacted to, None for the issue; for a comment: the review comment it replies to
    target_id: int | None = Field(default=None, sa_type=BigInteger)
    #: what `target_id` names: comment, review (its node id is read when it is needed), review_comment
    target_kind: str = "comment"
    #: dispatch sequence: results of a thread go out in this order
    sequence: int = 0
    #: lower goes first: 0 results, 1 gates, 2 reactions, 3 status
    priority: int = 0
    state: OutboxState = state(OutboxState.PENDING)
    reason: str = ""
    #: GitHub's id and address of what was posted
    posted_id: int | None = Field(default=None, sa_type=BigInteger, index=True)
    url: str = ""
    #: the attempt that waits for it, and what GitHub made of it
    attempt_id: str | None = Field(default=None, foreign_key="attempt.id", index=True)
    outcome: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    tries: int = 0
    not_before: datetime | None = moment()
    #: the process that sends it, or looks whether it was sent
    lease_owner: str | None = None
    #: processes that ended while they did that with this row alone
    interruptions: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    created_at: datetime = instant()
    sent_at: datetime | None = moment()
    posted_at: datetime | None = moment()
