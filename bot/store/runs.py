"""Runs under way: claiming, leases, recovery, and the rows that `engine` decides from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Select, bindparam, update
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import aliased
from sqlmodel import Session, SQLModel, and_, col, exists, func, or_, select

from bot.model.ident import new_id
from bot.model.state import AttemptState, RunState, follow
from bot.store import objects, run_context
from bot.store.database import ring
from bot.store.due import moment
from bot.store.objects import Question
from bot.store.run_context import Written
from bot.store.run_turn import in_turn
from bot.store.tables import Artifact, Attempt, Dispatch, Export, Frame, Gate, Outbox, Run, Snapshot, Thread, Value

R = TypeVar("R", bound=SQLModel)


@dataclass(slots=True)
class RunRows:
    """Everything of one run that decisions are made from."""

    run: Run
    dispatch: Dispatch
    thread: Thread
    snapshot: Snapshot
    frames: list[Frame]
    attempts: list[Attempt]
    #: of each key the newest value of every step that wrote it in each frame, oldest first
    values: list[Written] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    #: by attempt: what is posted for one that waits for it
    posts: dict[str, list[Outbox]] = field(default_factory=dict)
    artifacts: list[Artifact] = field(default_factory=list)
    exports: list[Export] = field(default_factory=list)
    #: the number of the run that it repeats
    again: int | None = None

    @property
    def root(self) -> Frame:
        return next(f for f in self.frames if f.parent_id is None)


_WAITED = Question(
    Run,
    which=lambda these: these.where(col(Run.state) == RunState.WAITING, col(Run.not_before) <= bindparam("now")),
)


def claim(session: Session, owner: str, now: datetime) -> str | None:
    """Take the oldest run whose turn it is and return its id; it is `owner`'s as long as that process lives."""
    _due(session, now)
    run: Run | None = in_turn(1).first(session, moment(now))
    if run is None:
        return None
    run.state = follow(run.state, RunState.RUNNING)
    run.lease_owner = owner
    run.not_before = None
    run.started_at = run.started_at or now
    if run.waiting_since is not None:
        run.waited += max(0.0, (now - run.waiting_since).total_seconds())
        run.waiting_since = None
    objects.save(session, run)
    return run.id


def _due(session: Session, now: datetime) -> None:
    """Runs that waited until a time that has come go to the front of their threads."""
    waited = _WAITED.objects(session, {"now": now})
    for run in waited:
        run.state = follow(run.state, RunState.QUEUED)
        run.front = 1
        run.not_before = None
        session.add(run)
    if waited:
        session.flush()


def next_due(session: Session, after: datetime) -> datetime | None:
    """When the earliest run may go on that waits for a time behind `after`.

    One whose time had come by then, and that was not claimed, waits for something that rings when it is over.
    """
    states = [RunState.QUEUED, RunState.WAITING]
    waiting = (col(Run.state).in_(states), col(Run.not_before) > after)
    return session.exec(select(func.min(Run.not_before)).where(*waiting)).one()


#: made once: putting a statement together costs more than running it, and these run at every step of every run
_HAS = tuple(
    exists().where(col(table.run_id) == bindparam("run_id")).correlate(None).label(f"has_{table.__name__}")
    for table in (Value, Gate, Outbox, Artifact, Export)
)
_ROOT, _INNER = aliased(Frame), aliased(Frame)
_HAS_INNER = (
    exists().where(col(_INNER.run_id) == bindparam("run_id"), col(_INNER.parent_id).is_not(None)).correlate(None)
)


def _of_run(these: Select[Any]) -> Select[Any]:
    """A run's row with those that there is one of."""
    return (
        these.join(Dispatch, col(Dispatch.id) == col(Run.dispatch_id))
        .join(Thread, col(Thread.id) == col(Run.thread_id))
        .join(Snapshot, col(Snapshot.id) == col(Run.snapshot_id))
        .join(_ROOT, and_(_ROOT.run_id == col(Run.id), col(_ROOT.parent_id).is_(None)))
        .where(col(Run.id) == bindparam("run_id"))
    )


def _head(*left_out: str) -> Question:
    also = (_HAS_INNER.label("has_inner"), *_HAS)
    return Question(Run, Dispatch, Thread, Snapshot, _ROOT, also=also, which=_of_run, without=left_out)


_HEAD = _head()
#: whole files are read and parsed for who asks for them alone: within a transaction nobody does
_HEAD_WITHOUT_FILES = _head("files")
_FRAMES = select(Frame).where(Frame.run_id == bindparam("run_id")).order_by(col(Frame.id))
_ATTEMPTS = Question(
    Attempt,
    which=lambda these: these.where(col(Attempt.run_id) == bindparam("run_id")).order_by(col(Attempt.id)),
)
_GATES = select(Gate).where(Gate.run_id == bindparam("run_id")).order_by(col(Gate.id))
_ARTIFACTS = select(Artifact).where(Artifact.run_id == bindparam("run_id")).order_by(col(Artifact.id))
_EXPORTS = select(Export).where(Export.run_id == bindparam("run_id")).order_by(col(Export.revision))
_POSTS = Question(
    Outbox,
    which=lambda these: these.where(
        col(Outbox.run_id) == bindparam("run_id"), col(Outbox.attempt_id).is_not(None)
    ).order_by(col(Outbox.id)),
)


def rows(session: Session, run_id: str, *, files: bool = True) -> RunRows:
    """The rows of a run, attempts in the order they were made. Raises `NoResultFound` where there is none.

    Without `files` those of the snapshot are read when they are looked at, in this session.
    """
    of, head = {"run_id": run_id}, _HEAD if files else _HEAD_WITHOUT_FILES
    found = head.all(session, of)
    if not found:
        raise NoResultFound(f"there is no run {run_id}")
    run, dispatch, thread, snapshot, root, inner, values, gates, said, artifacts, exports = found[0]
    first = session.get(Run, run.retry_of) if run.retry_of is not None else None
    return RunRows(
        run=run,
        dispatch=dispatch,
        thread=thread,
        snapshot=snapshot,
        # of most runs there are none of most sorts, and every query costs
        frames=list(session.exec(_FRAMES, params=of)) if inner else [root],
        attempts=_ATTEMPTS.objects(session, of),
        values=run_context.newest(session, run_id) if values else [],
        gates=list(session.exec(_GATES, params=of)) if gates else [],
        posts=posts(session, run_id) if said else {},
        artifacts=list(session.exec(_ARTIFACTS, params=of)) if artifacts else [],
        exports=list(session.exec(_EXPORTS, params=of)) if exports else [],
        again=first.number if first is not None else None,
    )


def posts(session: Session, run_id: str) -> dict[str, list[Outbox]]:
    """By attempt: what is to be done on GitHub for those of a run that wait for it."""
    found: dict[str, list[Outbox]] = {}
    for row in _POSTS.objects(session, {"run_id": run_id}):
        found.setdefault(row.attempt_id or "", []).append(row)
    return found


def get(session: Session, run_id: str) -> Run | None:
    """The run of that id."""
    return objects.get(session, Run, run_id)


def copied(row: R, **changes: Any) -> R:
    """The same row with an id of its own, and with what is changed; not in any session."""
    return type(row)(**{**row.model_dump(), "id": new_id(), **changes})


def called(session: Session, name: str) -> list[tuple[Run, Thread]]:
    """The runs that somebody may mean: by id, by `owner/name#1:r3`, or by `r3` alone, newest first."""
    if (run := session.get(Run, name.upper())) is not None:
        return [(run, session.get_one(Thread, run.thread_id))]
    found = re.fullmatch(r"(?:(?P<owner>[^/\s]+)/(?P<repo>[^#\s]+)#(?P<thread>\d{1,9}):)?[rR](?P<run>\d{1,9})", name)
    if found is None:
        return []
    query = (
        select(Run, Thread).join(Thread, col(Thread.id) == col(Run.thread_id)).where(Run.number == int(found["run"]))
    )
    if found["thread"]:
        query = query.where(
            func.lower(Thread.owner) == found["owner"].lower(),
            func.lower(Thread.name) == found["repo"].lower(),
            Thread.number == int(found["thread"]),
        )
    return list(session.exec(query.order_by(col(Run.id).desc())))


def ended(session: Session, run_id: str) -> bool:
    """Whether a run has ended, or is none of this database's."""
    run = session.get(Run, run_id)
    return run is None or run.state.ended


def put_back(session: Session, attempt: Attempt) -> bool:
    """Whether a step that people have answered waits again: who looked whether the answer still counts has ended."""
    if attempt.kind != "ask" or session.exec(select(Gate.id).where(Gate.attempt_id == attempt.id)).first() is None:
        return False
    attempt.state = follow(attempt.state, AttemptState.WAITING)
    session.add(attempt)
    session.flush()
    return True


def wait(session: Session, run: Run, now: datetime, until: datetime | None) -> None:
    """Put a run away until somebody or something answers, or until a time. It holds no worker, lease or turn."""
    run.state = follow(run.state, RunState.WAITING)
    run.lease_owner, run.suspect = None, False
    run.not_before, run.waiting_since = until, now
    objects.save(session, run)
    ring(session, "queue")


def release(session: Session, run: Run, now: datetime, not_before: datetime | None = None) -> None:
    """Give a run back to the queue, at the front of its thread."""
    run.state = follow(run.state, RunState.QUEUED)
    run.front = 1
    run.lease_owner = None
    run.not_before = not_before
    session.add(run)
    ring(session, "queue")


def wake(session: Session, run_id: str) -> None:
    """Something that a run waits for has come: an answer, an event, the last of what it posts.

    A waiting run goes to the front of its thread's queue, at once. One that runs is told by the bell `answers`: it may
    have other steps under way, or be about to wait. Every other one has no use for it.
    """
    run = objects.get(session, Run, run_id)
    if run is None:
        return
    if run.state is RunState.WAITING:
        run.state = follow(run.state, RunState.QUEUED)
        run.front, run.not_before = 1, None
        objects.save(session, run)
        ring(session, "queue")
    elif run.state is RunState.RUNNING:
        ring(session, "answers")


def cancelled(session: Session, owner: str) -> list[str]:
    """Ids of runs under `owner`'s lease that somebody asked to cancel."""
    return list(
        session.exec(
            select(Run.id).where(
                Run.state == RunState.RUNNING, Run.lease_owner == owner, col(Run.cancelled_by).is_not(None)
            )
        )
    )


def recent(session: Session, limit: int = 20) -> list[tuple[Run, Dispatch, Thread]]:
    """The newest runs of the instance with what asked for them, newest first."""
    return list(
        session.exec(
            select(Run, Dispatch, Thread)
            .join(Dispatch, col(Dispatch.id) == col(Run.dispatch_id))
            .join(Thread, col(Thread.id) == col(Run.thread_id))
            .order_by(col(Run.id).desc())
            .limit(limit)
        )
    )


def untold(session: Session, queued_before: datetime, told_before: datetime) -> list[str]:
    """Runs whose status is to be told: accepted that long ago and never told, or told that long ago and not final.

    One that waits is told once: nothing changes until it goes on. An ended one that was never told has nothing to say.
    """
    told = col(Run.status_at)
    under_way = col(Run.state).in_([RunState.QUEUED, RunState.RUNNING])
    waits = and_(Run.state == RunState.WAITING, or_(told.is_(None), told < col(Run.waiting_since)))
    first = and_(told.is_(None), col(Run.queued_at) <= queued_before, or_(under_way, waits))
    again = and_(told <= told_before, or_(under_way, waits, col(Run.ended_at).is_not(None)))
    return list(session.exec(select(Run.id).where(or_(first, again)).order_by(col(Run.id))))


def status_told(session: Session, run_id: str, at: datetime) -> None:
    """Note when the run's status was told."""
    session.execute(update(Run).where(col(Run.id) == run_id).values(status_at=at))
