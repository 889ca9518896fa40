"""Whose turn it is in the outbox: what may be sent now, as conditions of a query."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement
from sqlalchemy.orm import aliased
from sqlmodel import and_, col, exists, not_, or_, select

from bot.model.state import OutboxState
from bot.store.posts import OPEN
from bot.store.tables import Outbox, Run, Thread

#: what makes content that people are notified of, which GitHub bounds by itself; an edit makes none
CONTENT = frozenset({"comment", "review", "pull_request"})
#: what is no call to GitHub, so that its pace does not matter
ELSEWHERE = frozenset({"webhook", "pin", "unpin", "dispatch"})


def creates() -> ColumnElement[bool]:
    """Whether what a row wants is new on GitHub: content, and no edit of what stands there."""
    return and_(col(Outbox.action).in_(CONTENT), col(Outbox.posted_id).is_(None))


def turn(now: datetime, silent: Collection[int], no_content: Collection[int]) -> tuple[ColumnElement[bool] | bool, ...]:
    """Conditions on `Outbox` joined with `Thread`; see `outbox.claim`."""
    earlier = aliased(Outbox)
    holds = and_(
        col(earlier.thread_id) == col(Outbox.thread_id),
        col(earlier.action) == "comment",
        col(earlier.state).in_(OPEN),
        col(earlier.priority) == 0,
        or_(
            col(earlier.sequence) < col(Outbox.sequence),
            and_(col(earlier.sequence) == col(Outbox.sequence), col(earlier.id) < col(Outbox.id)),
        ),
        col(earlier.sequence) > 0,
    )
    before = aliased(Outbox)
    asked_before = and_(
        col(before.attempt_id) == col(Outbox.attempt_id),
        col(before.state).in_(OPEN),
        col(before.id) < col(Outbox.id),
    )
    ending = and_(
        col(Run.thread_id) == col(Outbox.thread_id),
        col(Run.cancelled_by).is_not(None),
        col(Run.ended_at).is_(None),
        col(Run.sequence) < col(Outbox.sequence),
    )
    return (
        or_(col(Outbox.action).in_(ELSEWHERE), col(Thread.installation_id).not_in(silent)),
        or_(not_(creates()), col(Thread.installation_id).not_in(no_content)),
        Outbox.state == OutboxState.PENDING,
        or_(col(Outbox.not_before).is_(None), col(Outbox.not_before) <= now),
        or_(col(Outbox.attempt_id).is_(None), not_(exists(select(before.id).where(asked_before)))),
        or_(
            Outbox.action != "comment",
            Outbox.priority != 0,
            Outbox.sequence == 0,
            and_(not_(exists(select(earlier.id).where(holds))), not_(exists(select(Run.id).where(ending)))),
        ),
    )
