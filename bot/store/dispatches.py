"""Dispatches and the runs they start."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, bindparam
from sqlmodel import Session, and_, col, func, or_, select

from bot.model.state import AttemptState, DispatchState, OutboxState, RunState, follow
from bot.store import clones, gates, objects
from bot.store.database import ring
from bot.store.objects import Question
from bot.store.tables import Attempt, Dispatch, Frame, Outbox, Run, Thread

#: how the reason begins of a run that ended together with all of its thread, which one comment tells
TOLD = "stopped by "
#: at the end of every run
_OF_DELIVERY = Question(
    Run,
    which=lambda these: these.join(Dispatch, col(Dispatch.id) == col(Run.dispatch_id)).where(
        col(Dispatch.delivery_id) == bindparam("delivery")
    ),
)


def accept(session: Session, dispatch: Dispatch, workflow: str, now: datetime, *, retry_of: str | None = None) -> Run:
    """Give the dispatch its place in the thread's order and queue its run; `retry_of` is the run that it repeats."""
    _place(session, dispatch)
    return queue_run(session, dispatch, workflow, now, retry_of=retry_of)


def refuse(session: Session, dispatch: Dispatch, reason: str) -> None:
    """Record a request that nothing is started for."""
    dispatch.state = follow(DispatchState.QUEUED, DispatchState.REFUSED)
    dispatch.reason = reason
    _place(session, dispatch)


def _place(session: Session, dispatch: Dispatch) -> None:
    """The next place in the order of its thread."""
    thread = objects.get_one(session, Thread, dispatch.thread_id)
    dispatch.sequence = thread.next_sequence
    thread.next_sequence += 1
    objects.save(session, thread)
    objects.put(session, dispatch)


def queue_run(
    session: Session, dispatch: Dispatch, workflow: str, now: datetime, *, retry_of: str | None = None
) -> Run:
    """A run of the dispatch with its root frame, queued."""
    thread = objects.get_one(session, Thread, dispatch.thread_id)
    run = Run(
        dispatch_id=dispatch.id,
        thread_id=thread.id,
        snapshot_id=dispatch.snapshot_id,
        number=thread.next_run,
        sequence=dispatch.sequence,
        workflow=workflow,
        retry_of=retry_of,
        queued_at=now,
    )
    thread.next_run += 1
    objects.save(session, thread)
    objects.add(session, run)
    objects.add(session, Frame(run_id=run.id))
    ring(session, "queue")
    return run


def next_ordinal(session: Session, delivery_id: str) -> int:
    """A place behind every dispatch that follows from a delivery, for one more."""
    last = session.exec(select(func.max(Dispatch.ordinal)).where(Dispatch.delivery_id == delivery_id)).one()
    return 0 if last is None else last + 1


def caused(session: Session, delivery_id: str, thread_id: str, trigger: str) -> frozenset[str]:
    """What a delivery has started on a thread by a trigger of that name: one check can be of several."""
    rows = session.exec(select(Dispatch).where(Dispatch.delivery_id == delivery_id, Dispatch.thread_id == thread_id))
    return frozenset(row.command for row in rows if row.trigger.get("name") == trigger)


def of_pull(session: Session, repository_id: int, number: int, branch: str | None) -> list[Dispatch]:
    """The newest dispatches of a pull request and of the thread whose branch it is, newest first; at most a hundred."""
    return list(
        session.exec(
            select(Dispatch)
            .join(Thread, col(Thread.id) == col(Dispatch.thread_id))
            .where(Thread.repository_id == repository_id, _of_pull(number, branch))
            .order_by(col(Dispatch.id).desc())
            .limit(100)
        )
    )


def that_pushed(session: Session, repository_id: int, number: int, branch: str | None, sha: str) -> Dispatch | None:
    """The dispatch whose run pushed a commit of a pull request; None where no run is known to have.

    A run has pushed it where something that was done for it, on the pull request's thread or on the one whose branch it
    is, has the commit as `pushed` in its outcome. Whoever asked last, or for something else, is not in that.
    """
    return session.exec(
        select(Dispatch)
        .join(Run, col(Run.dispatch_id) == col(Dispatch.id))
        .join(Outbox, col(Outbox.run_id) == col(Run.id))
        .join(Thread, col(Thread.id) == col(Outbox.thread_id))
        .where(
            Thread.repository_id == repository_id,
            _of_pull(number, branch),
            Outbox.state == OutboxState.POSTED,
            col(Outbox.outcome)["pushed"].as_string() == sha,
        )
        .order_by(col(Outbox.id))
        .limit(1)
    ).first()


def _of_pull(number: int, branch: str | None) -> ColumnElement[bool]:
    """The threads of a pull request: its own, and the one whose branch it is."""
    own = col(Thread.number) == number
    return or_(own, col(Thread.branch) == branch) if branch else own


def first_run(session: Session, dispatch_id: str) -> Run | None:
    """The run that a dispatch was made with; None where there is no such dispatch."""
    return session.exec(select(Run).where(Run.dispatch_id == dispatch_id).order_by(col(Run.id)).limit(1)).first()


def get(session: Session, dispatch_id: str) -> Dispatch:
    """The dispatch of that id."""
    return objects.get_one(session, Dispatch, dispatch_id)


def of_review(session: Session, thread_id: str, review_id: int) -> list[Dispatch]:
    """What a review and its comments have asked for, in order."""
    rows = session.exec(
        select(Dispatch)
        .where(Dispatch.thread_id == thread_id, col(Dispatch.target_kind).in_(["review", "review_comment"]))
        .order_by(col(Dispatch.sequence))
    )
    return [row for row in rows if row.depth == 0 and row.trigger.get("review_id") == review_id]


def of_delivery(session: Session, delivery_id: str) -> list[Run]:
    """The runs that a delivery has started."""
    return _OF_DELIVERY.objects(session, {"delivery": delivery_id})


def of_thread(session: Session, thread_id: str, limit: int = 10) -> Sequence[Run]:
    """The thread's newest runs, newest first."""
    return session.exec(
        select(Run).where(Run.thread_id == thread_id).order_by(col(Run.number).desc()).limit(limit)
    ).all()


def open_of_thread(session: Session, thread_id: str) -> Sequence[Run]:
    """The thread's runs that have not ended, in order."""
    states = [s for s in RunState if not s.ended]
    return session.exec(
        select(Run).where(Run.thread_id == thread_id, col(Run.state).in_(states)).order_by(col(Run.number))
    ).all()


def before(session: Session, run: Run) -> int:
    """How many runs of its thread go before a queued one: those that hold the turn, and those queued ahead of it."""
    ahead = or_(
        Run.state == RunState.RUNNING,
        and_(
            Run.state == RunState.QUEUED,
            or_(col(Run.front) > run.front, and_(col(Run.front) == run.front, col(Run.number) < run.number)),
        ),
    )
    return session.exec(
        select(func.count(col(Run.id))).where(Run.thread_id == run.thread_id, Run.id != run.id, ahead)
    ).one()


def newest_ended(session: Session, thread_id: str) -> Run | None:
    """The thread's newest run that has ended, or ends because somebody cancelled it."""
    ended = col(Run.state).in_([s for s in RunState if s.ended])
    return session.exec(
        select(Run)
        .where(Run.thread_id == thread_id, or_(ended, col(Run.cancelled_by).is_not(None)))
        .order_by(col(Run.number).desc())
        .limit(1)
    ).first()


def retrying(session: Session, run_id: str) -> Run | None:
    """The retry of a run that is under way."""
    states = [s for s in RunState if not s.ended]
    return session.exec(select(Run).where(Run.retry_of == run_id, col(Run.state).in_(states)).limit(1)).first()


def numbered(session: Session, thread_id: str, number: int) -> Run | None:
    """The run that people of the thread call r<number>."""
    return session.exec(select(Run).where(Run.thread_id == thread_id, Run.number == number)).first()


def cancel(session: Session, run: Run, by: str, now: datetime, *, told: bool = False) -> bool:
    """Cancel a run. A running one is told through the `cancel` bell (False: its worker ends it); others end here.

    `told`: its end is told already, so that nothing more is said about it (`TOLD` begins its reason).
    """
    run.cancelled_by = by
    run.reason = f"{TOLD if told else 'cancelled by '}{by}"
    if run.state is RunState.RUNNING:
        session.add(run)
        ring(session, "cancel")
        return False
    run.state = follow(run.state, RunState.CANCELLED)
    run.ended_at = now
    dispatch = session.get_one(Dispatch, run.dispatch_id)
    dispatch.state = follow(dispatch.state, DispatchState.CANCELLED)
    dispatch.reason = run.reason
    for attempt in session.exec(select(Attempt).where(Attempt.run_id == run.id)):
        if not attempt.state.ended:
            attempt.state = follow(attempt.state, AttemptState.CANCELLED)
            attempt.ended_at = now
            session.add(attempt)
    gates.cancel(session, run.id)
    clones.forget(session, run.id)
    session.add_all([run, dispatch])
    ring(session, "queue")
    return True
