"""Threads, repositories and installations whose time is over: what was under way ends, with one reason."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from bot.model.codec import repository_to_json
from bot.model.state import OutboxState
from bot.model.thread import Repository
from bot.store import deliveries, dispatches, outbox, purging, schedules, sweep, threads
from bot.store.kind import Goes
from bot.store.tables import CommentVersion, Dispatch, Outbox, Pin, Run, Thread


def of_repository(session: Session, repository_id: int) -> list[Thread]:
    """Every thread that we know of a repository."""
    return list(session.exec(select(Thread).where(Thread.repository_id == repository_id)))


def of_installation(session: Session, installation_id: int) -> list[Thread]:
    """Every thread that we know of an installation."""
    return list(session.exec(select(Thread).where(Thread.installation_id == installation_id)))


def end(session: Session, threads: Collection[Thread], reason: str, told: str, now: datetime, *, at: datetime) -> int:
    """Nothing is said in these threads any more: runs are called off, what was to be said is dropped with `reason`.

    `told` is why, in words, as a run's end has it; `at` is GitHub's time of it. Returns how many runs were called off.
    The comment of one that runs is dropped when it comes, without a call.
    """
    for thread in threads:
        # GitHub's time may be that of an earlier change
        thread.gone, thread.gone_at = reason, max(at, now)
        session.add(thread)
    ids = [thread.id for thread in threads]
    called_off = 0
    for run in session.exec(select(Run).where(col(Run.thread_id).in_(ids), col(Run.state).in_(purging.OPEN))).all():
        if run.cancelled_by is None:
            dispatches.cancel(session, run, told, now)
            called_off += 1
    waiting = [OutboxState.PENDING, OutboxState.UNSURE]
    for row in session.exec(select(Outbox).where(col(Outbox.thread_id).in_(ids), col(Outbox.state).in_(waiting))).all():
        outbox.drop(session, row.id, reason)
    return called_off


def go_on(session: Session, threads: Collection[Thread], reason: str) -> None:
    """What ended for `reason` may be spoken in again."""
    ids = [thread.id for thread in threads]
    session.execute(
        update(Thread).where(col(Thread.id).in_(ids), col(Thread.gone) == reason).values(gone="", gone_at=None)
    )


def rename(session: Session, repository: Repository) -> None:
    """The repository has another name, or another owner."""
    owner = repository.owner
    session.execute(
        update(Thread)
        .where(col(Thread.repository_id) == repository.id)
        .values(owner=owner.login, owner_id=owner.id, name=repository.name, default_branch=repository.default_branch)
    )
    schedules.rename(session, repository.id, repository_to_json(repository))


def purge(session: Session, thread: Thread, when: datetime) -> None:
    """The issue was deleted: neither its text nor any of its comments' is kept, here or among the deliveries.

    Its runs were called off; a dispatch that has not come to its end keeps no words either.
    """
    named = select(CommentVersion.comment_id, CommentVersion.kind).where(CommentVersion.thread_id == thread.id)
    for comment_id, kind in session.exec(named.distinct()):
        if comment_id:
            deliveries.purge(session, thread.repository_id, comment_id, kind)
    deliveries.purge_thread(session, thread.repository_id, thread.number)
    for dispatch in session.exec(select(Dispatch).where(Dispatch.thread_id == thread.id)):
        dispatch.request = ""
        dispatch.trigger = {**dispatch.trigger, "text": ""}
        dispatch.issue = {**dispatch.issue, "title": "", "body": ""}
        session.add(dispatch)
    session.execute(delete(Pin).where(col(Pin.thread_id) == thread.id))
    session.execute(
        update(CommentVersion)
        .where(col(CommentVersion.thread_id) == thread.id)
        .values(**threads.wordless(), deleted_at=when)
    )
    said = select(Outbox.id).where(Outbox.thread_id == thread.id, purging.said_and_done())
    sweep.purge(session, "outbox", Goes.SAID, list(session.exec(said)))
    # it was made from the title
    thread.slug = None
    session.add(thread)
    purging.flag(session, thread.id, when)
