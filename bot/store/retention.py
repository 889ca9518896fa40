"""What goes by itself after a time (`BOT_KEEP_DAYS`): the daily sweeps, besides those of ended runs (`purging`).

Rows that a run under way needs stay: its delivery, its request, the comments of its thread, its configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, String, cast, func
from sqlalchemy.orm import aliased
from sqlmodel import Session, and_, col, exists, not_, or_, select

from bot.model.state import DeliveryState
from bot.store.kind import Goes
from bot.store.purging import OPEN, request_ended, said_and_done
from bot.store.sweep import PAGE, Page, Sweep, deleting, paged, purge, purging
from bot.store.tables import (
    CommentVersion,
    Creation,
    Delivery,
    Dispatch,
    Outbox,
    Pin,
    Process,
    Reply,
    Run,
    Snapshot,
    Thread,
)

#: how long GUIDs and digests of contents are kept: as long nothing that is sent again is taken for new
GUIDS = timedelta(days=90)
#: what counts for an hour, and a process that was not heard of
DAY = timedelta(days=1)
#: reasons for which a thread has ended with its repository
REMOVED = ("repository_removed", "app_removed")


def sweeps(now: datetime, keep: timedelta) -> list[Sweep]:
    """What goes now, where texts are kept that long. A delivery's row is kept as long as its text."""
    before = now - keep
    return [
        _requests(before),
        _bodies(before),
        _deliveries(now - max(keep, GUIDS)),
        _posts(before),
        _versions(before),
        _snapshots(now - DAY),
        _of_a_day("creation", col(Creation.at) < now - DAY),
        _of_a_day("reply", col(Reply.at) < now - DAY),
        _of_a_day("process", col(Process.beat_at) < now - DAY),
    ]


def _of_a_day(name: str, old: ColumnElement[bool]) -> Sweep:
    """Rows that count for an hour, and processes: one that was not heard of for a day may be heard of again."""
    return Sweep(name, paged(name, old), deleting(name, old))


def _requests(before: datetime) -> Sweep:
    """What was asked for, once what came of it has ended for long."""
    ended = request_ended()
    lasting = exists(
        select(Run.id).where(
            col(Run.dispatch_id) == col(Dispatch.id), or_(col(Run.ended_at).is_(None), col(Run.ended_at) >= before)
        )
    )
    # every issue has a title, whatever was said in it
    worded = or_(col(Dispatch.request) != "", cast(col(Dispatch.issue), String).like('%"title"%'))
    due: tuple[ColumnElement[bool], ...] = (col(Dispatch.created_at) < before, worded, ended, not_(lasting))
    return Sweep("dispatch", paged("dispatch", *due), purging("dispatch", Goes.REQUEST, ended, not_(lasting)))


def began(*where: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a delivery led to a run that is such."""
    return exists(
        select(Run.id)
        .join(Dispatch, col(Dispatch.id) == col(Run.dispatch_id))
        .where(col(Dispatch.delivery_id) == col(Delivery.id), *where)
    )


def _bodies(before: datetime) -> Sweep:
    """What deliveries said, once what they began has ended for long."""
    lasting = began(or_(col(Run.ended_at).is_(None), col(Run.ended_at) >= before))
    worded = or_(func.length(col(Delivery.body)) > 0, cast(col(Delivery.headers), String) != "{}")
    settled = and_(col(Delivery.state) != DeliveryState.NEW, not_(lasting))
    due: tuple[ColumnElement[bool], ...] = (col(Delivery.received_at) < before, worded, settled)
    return Sweep("delivery", paged("delivery", *due), purging("delivery", Goes.BODY, settled))


def _deliveries(before: datetime) -> Sweep:
    """Deliveries with their identities. A run under way reads when its own came."""
    settled = and_(col(Delivery.state) != DeliveryState.NEW, not_(began(col(Run.state).in_(OPEN))))
    due = col(Delivery.received_at) < before
    return Sweep("delivery", paged("delivery", due, settled), purging("delivery", Goes.DELIVERY, settled))


def _posts(before: datetime) -> Sweep:
    """What was said beside runs, and by runs that have lost their bytes before. The list of pins lasts as they do."""
    since = func.coalesce(col(Outbox.posted_at), col(Outbox.created_at))
    purged = exists(select(Run.id).where(col(Run.id) == col(Outbox.run_id), col(Run.purged_at).is_not(None)))
    pinned = exists(select(Pin.id).where(col(Pin.thread_id) == col(Outbox.thread_id), not_(col(Pin.native))))
    said = and_(
        said_and_done(),
        or_(col(Outbox.run_id).is_(None), purged),
        or_(col(Outbox.purpose) != "index", not_(pinned)),
    )
    due = (since < before, col(Outbox.body) != "", said)
    return Sweep("outbox", paged("outbox", *due), purging("outbox", Goes.SAID, said))


def _versions(before: datetime) -> Sweep:
    """Texts of comments that were replaced since, and all of them where nothing was asked since in their thread.

    What goes is read from GitHub again should it be needed, as it stands then. That a comment was deleted stays known.
    """
    newer = aliased(CommentVersion)
    replaced = exists(
        select(newer.id).where(
            col(newer.thread_id) == col(CommentVersion.thread_id),
            col(newer.comment_id) == col(CommentVersion.comment_id),
            col(newer.kind) == col(CommentVersion.kind),
            col(newer.id) > col(CommentVersion.id),
            col(newer.seen_at) < before,
        )
    )
    asked = exists(
        select(Dispatch.id).where(
            col(Dispatch.thread_id) == col(CommentVersion.thread_id), col(Dispatch.created_at) >= before
        )
    )
    idle: ColumnElement[bool] = not_(
        exists(select(Run.id).where(col(Run.thread_id) == col(CommentVersion.thread_id), col(Run.state).in_(OPEN)))
    )
    due: tuple[ColumnElement[bool], ...] = (
        col(CommentVersion.seen_at) < before,
        col(CommentVersion.deleted_at).is_(None),
        or_(replaced, not_(asked)),
        idle,
    )
    return Sweep("commentversion", paged("commentversion", *due), purging("commentversion", Goes.SEEN, idle))


def _needed(*where: ColumnElement[bool]) -> Any:
    return select(Run.snapshot_id).where(*where)


def _snapshots(before: datetime) -> Sweep:
    """Configurations: the files go when no run has its bytes that ran with them, the row when nothing names it."""
    has = col(Run.purged_at).is_(None)

    def find(session: Session, after: str) -> Page:
        ids = session.exec(
            select(Snapshot.id).where(col(Snapshot.id) > after).order_by(col(Snapshot.id)).limit(PAGE)
        ).all()
        old = session.exec(
            select(Snapshot.id).where(
                col(Snapshot.id).in_(ids),
                col(Snapshot.created_at) < before,
                cast(col(Snapshot.files), String) != "{}",
                col(Snapshot.id).not_in(_needed(has)),
            )
        ).all()
        return Page(old, ids[-1] if len(ids) == PAGE else None)

    def act(session: Session, ids: Sequence[str]) -> int:
        return purge(session, "snapshot", Goes.SHARED, ids, col(Snapshot.id).not_in(_needed(has)))

    return Sweep("snapshot", find, act)


def unnamed_snapshots(repository_id: int) -> Sweep:
    """Configurations of a repository that neither a run nor a request names."""
    named = (
        col(Snapshot.id).not_in(_needed()),
        col(Snapshot.id).not_in(select(Dispatch.snapshot_id)),
        col(Snapshot.repository_id) == repository_id,
    )
    return Sweep("snapshot", paged("snapshot", *named), deleting("snapshot", *named))


def removed_repositories(session: Session, before: datetime) -> list[int]:
    """Repositories that were taken away before then, with every thread that is known of them."""
    staying = or_(col(Thread.gone).not_in(REMOVED), col(Thread.gone_at) >= before)
    stay = select(Thread.repository_id).where(staying)
    return list(
        session.exec(
            select(Thread.repository_id)
            .where(col(Thread.gone).in_(REMOVED), col(Thread.repository_id).not_in(stay))
            .distinct()
        )
    )
