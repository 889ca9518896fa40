"""Whose turn it is in the outbox: what may be sent now, as a query."""

from __future__ import annotations

from functools import cache

from sqlalchemy import BigInteger, Boolean, ColumnElement, bindparam
from sqlalchemy.orm import aliased
from sqlmodel import and_, col, exists, not_, or_, select
from sqlmodel.sql.expression import Select

from bot.model.state import OutboxState
from bot.store.due import due
from bot.store.posts import OPEN
from bot.store.tables import Outbox, Run, Thread

#: what makes content that people are notified of, which GitHub bounds by itself; an edit makes none
CONTENT = frozenset({"comment", "review", "pull_request"})
#: what is no call to GitHub, so that its pace does not matter
ELSEWHERE = frozenset({"webhook", "pin", "unpin", "dispatch"})


def creates() -> ColumnElement[bool]:
    """Whether what a row wants is new on GitHub: content, and no edit of what stands there."""
    return and_(col(Outbox.action).in_(CONTENT), col(Outbox.posted_id).is_(None))


def is_new(row: Outbox) -> bool:
    """The same of a row at hand."""
    return row.action in CONTENT and row.posted_id is None


@cache
def turn() -> Select[Outbox, Thread]:
    """What may be sent next, each with its thread, as a query with the parameters `now`, `longest`, `silent`,
    `no_content`, `away` and `most`; see `outbox.following`.

    Made once: building it takes ten times as long as asking it.
    """
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
    done = aliased(Outbox)
    # a label that an agent puts on and then takes off must not come back; what steps wait for has its own order
    done_before = and_(
        col(done.run_id) == col(Outbox.run_id),
        col(done.action) == col(Outbox.action),
        col(done.attempt_id).is_(None),
        col(done.state).in_(OPEN),
        col(done.id) < col(Outbox.id),
    )
    ending = and_(
        col(Run.thread_id) == col(Outbox.thread_id),
        col(Run.cancelled_by).is_not(None),
        col(Run.ended_at).is_(None),
        col(Run.sequence) < col(Outbox.sequence),
    )
    silent, no_content = (bindparam(name, type_=BigInteger(), expanding=True) for name in ("silent", "no_content"))
    away = bindparam("away", type_=Boolean())
    conditions = (
        or_(col(Outbox.action).in_(ELSEWHERE), and_(not_(away), col(Thread.installation_id).not_in(silent))),
        or_(not_(creates()), col(Thread.installation_id).not_in(no_content)),
        Outbox.state == OutboxState.PENDING,
        due(col(Outbox.not_before)),
        or_(col(Outbox.attempt_id).is_(None), not_(exists(select(before.id).where(asked_before)))),
        or_(
            Outbox.purpose != "action",
            col(Outbox.attempt_id).is_not(None),
            not_(exists(select(done.id).where(done_before))),
        ),
        or_(
            Outbox.action != "comment",
            Outbox.priority != 0,
            Outbox.sequence == 0,
            and_(not_(exists(select(earlier.id).where(holds))), not_(exists(select(Run.id).where(ending)))),
        ),
    )
    return (
        select(Outbox, Thread)
        .join(Thread, col(Thread.id) == col(Outbox.thread_id))
        .where(*conditions)
        .order_by(col(Outbox.priority), col(Outbox.id))
        .limit(bindparam("most"))
    )
