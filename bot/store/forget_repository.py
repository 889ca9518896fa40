"""The sweeps that forget a repository: every row of it but what was spent, by numbers.

Deliveries stay bare until their 90 days are over, so that nothing which is sent again begins a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, null, update
from sqlmodel import Session, and_, col, exists, func, not_, or_, select

from bot.model.state import DeliveryState, OutboxState
from bot.store import dispatches, outbox, posts, purging
from bot.store.forgetting import Forgotten
from bot.store.kept import table
from bot.store.purging import OPEN
from bot.store.retention import unnamed_snapshots
from bot.store.sweep import Sweep, deleting, listed, paged
from bot.store.tables import CommentVersion, Delivery, Dispatch, Outbox, Pin, Reply, Run, Schedule, Thread

#: why a run ends, and what it had to say is dropped
TOLD = "the forgetting of the repository"
REASON = "forgotten"
#: runs and posts that one transaction ends
_AT_ONCE = 10
#: a run's rows, those that refer to others before those
_TABLES = ("clone", "value", "artifact", "export", "steer", "outbox", "gate", "attempt")


def _threads(what: Forgotten) -> Any:
    return select(Thread.id).where(Thread.repository_id == what.id)


def call_off(session: Session, what: Forgotten, now: datetime) -> int:
    """Call off some of the runs under way, and drop some of what is to be said; how many there were.

    One that a worker holds ends when that hears of it.
    """
    mine = (col(Run.thread_id).in_(_threads(what)), col(Run.queued_at) <= what.at)
    open_runs = session.exec(
        select(Run).where(*mine, col(Run.state).in_(OPEN), col(Run.cancelled_by).is_(None)).limit(_AT_ONCE)
    ).all()
    for run in open_runs:
        dispatches.cancel(session, run, TOLD, now, told=True)
    waiting = (OutboxState.PENDING, OutboxState.UNSURE)
    unsaid = session.exec(
        select(Outbox.id)
        .where(
            col(Outbox.thread_id).in_(_threads(what)),
            col(Outbox.state).in_(waiting),
            col(Outbox.created_at) <= what.at,
        )
        .limit(_AT_ONCE)
    ).all()
    for row_id in unsaid:
        outbox.drop(session, row_id, REASON)
    return len(open_runs) + len(unsaid)


def ended(session: Session, what: Forgotten) -> list[str]:
    """Runs that can go now, a batch of them: ended, and with nothing being said."""
    return list(
        session.exec(
            select(Run.id)
            .where(
                col(Run.thread_id).in_(_threads(what)),
                col(Run.queued_at) <= what.at,
                col(Run.state).not_in(OPEN),
                col(Run.id).not_in(purging.speaking()),
            )
            .order_by(col(Run.id))
            .limit(purging.BATCH)
        )
    )


def rows_of(run_ids: Sequence[str]) -> list[Sweep]:
    """What deletes these runs with all their rows."""
    sweeps = [Sweep(name, listed(name, "run_id", run_ids), deleting(name)) for name in _TABLES]
    # a frame stands within an older one
    sweeps.append(Sweep("frame", listed("frame", "run_id", run_ids, youngest_first=True), deleting("frame")))
    sweeps.append(Sweep("run", listed("run", "id", run_ids), deleting("run")))
    return sweeps


def rest_of(what: Forgotten) -> list[Sweep]:
    """What deletes the repository's other rows, as far as no run refers to them."""
    of = (col(Thread.repository_id) == what.id,)

    def mine(model: Any) -> ColumnElement[bool]:
        return exists(select(Thread.id).where(col(Thread.id) == col(model.thread_id), *of))

    quiet = col(Outbox.state).not_in(posts.OPEN)
    said = and_(mine(Outbox), col(Outbox.run_id).is_(None), quiet, col(Outbox.created_at) <= what.at)
    without_run: ColumnElement[bool] = not_(exists(select(Run.id).where(col(Run.dispatch_id) == col(Dispatch.id))))
    requests = and_(mine(Dispatch), without_run, col(Dispatch.created_at) <= what.at)
    versions = and_(mine(CommentVersion), col(CommentVersion.seen_at) <= what.at)
    pins = and_(mine(Pin), col(Pin.pinned_at) <= what.at)
    replies = and_(mine(Reply), col(Reply.at) <= what.at)
    bare = and_(
        *of,
        *(
            not_(exists(select(model.id).where(col(model.thread_id) == col(Thread.id))))
            for model in (Run, Dispatch, Outbox, Pin, CommentVersion, Reply)
        ),
    )
    schedules = col(Schedule.repository_id) == what.id
    return [
        *(
            Sweep(name, paged(name, where), deleting(name, where))
            for name, where in (
                ("outbox", said),
                ("dispatch", requests),
                ("commentversion", versions),
                ("pin", pins),
                ("reply", replies),
                ("thread", bare),
                ("schedule", schedules),
            )
        ),
        _deliveries(what),
        unnamed_snapshots(what.id),
    ]


def _deliveries(what: Forgotten) -> Sweep:
    """Deliveries lose all but what tells whether one is sent again."""
    asked = exists(select(Dispatch.id).where(col(Dispatch.delivery_id) == col(Delivery.id)))
    mine = and_(
        col(Delivery.repository_id) == what.id,
        col(Delivery.received_at) <= what.at,
        col(Delivery.state) != DeliveryState.NEW,
        not_(asked),
    )
    worded = or_(col(Delivery.body) != b"", col(Delivery.reason) != "", col(Delivery.number).is_not(None))

    def act(session: Session, ids: Sequence[str]) -> int:
        bare = update(table("delivery")).where(col(Delivery.id).in_(ids), mine)
        empty = {"body": b"", "headers": {}, "reason": "", "comment_id": null(), "number": null()}
        return session.connection().execute(bare.values(empty)).rowcount

    return Sweep("delivery", paged("delivery", mine, worded), act)


def left(session: Session, what: Forgotten) -> int:
    """What cannot go yet: runs under way or with something that is being said, what is being said beside runs, and
    deliveries that nobody looked at.
    """
    runs = select(func.count(col(Run.id))).where(
        col(Run.thread_id).in_(_threads(what)),
        col(Run.queued_at) <= what.at,
        or_(col(Run.state).in_(OPEN), col(Run.id).in_(purging.speaking())),
    )
    unsaid = select(func.count(col(Outbox.id))).where(
        col(Outbox.thread_id).in_(_threads(what)),
        col(Outbox.run_id).is_(None),
        col(Outbox.state).in_(posts.OPEN),
        col(Outbox.created_at) <= what.at,
    )
    unseen = select(func.count(col(Delivery.id))).where(
        col(Delivery.repository_id) == what.id,
        col(Delivery.state) == DeliveryState.NEW,
        col(Delivery.received_at) <= what.at,
    )
    return sum(session.exec(count).one() for count in (runs, unsaid, unseen))
