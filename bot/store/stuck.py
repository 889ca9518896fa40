"""What should have moved by now and has not: for the log, `doctor`, `/readyz` and the metrics.

Whatever is told here is nobody's turn but ours: what waits for people, for a time, for GitHub's limits or behind a run
of its own thread is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import Session, and_, col, exists, func, not_, or_, select

from bot.model.state import DeliveryState, GateState, OutboxState, RunState
from bot.store.run_turn import has_turn, turn_since
from bot.store.tables import Creation, Delivery, Gate, Landmark, Meter, Outbox, Process, Run, Thread

#: a delivery that nobody looked at, a run whose turn it is
LATE = timedelta(minutes=5)
#: a lease that nobody renewed, and nobody took over
LEFT = timedelta(minutes=1)
#: what is to be said
UNSAID = timedelta(minutes=10)
#: the same where GitHub's bound on an hour may hold it back
UNSAID_AT_MOST = timedelta(minutes=70)
#: creations in an hour at which nothing more is created: `publish.Pace`'s bound
HOURLY = 500
#: GitHub's log of deliveries, which is read every ten minutes
UNREAD = timedelta(minutes=30)
#: the landmark of that
READING = "deliveries"
#: ids that are told of a kind
SHOWN = 5

#: what each kind is, in words, for a number of them
WORDS: Mapping[str, str] = {
    "delivery": "deliveries that nobody looked at for 5 minutes",
    "run_queued": "runs that could have started 5 minutes ago",
    "run_running": "runs whose process is gone, and that nobody took over",
    "post_pending": "posts that could have left 10 minutes ago",
    "post_unsure": "posts of which nobody found out for 10 minutes whether they stand on GitHub",
    "gate": "questions that are out of time, while their run still waits",
    "log_unread": "GitHub's log of deliveries, not read for 30 minutes",
}


@dataclass(frozen=True, slots=True)
class Stuck:
    """What of one kind is stuck: how many, since when the oldest could have moved, and the ids of the oldest."""

    count: int
    oldest: datetime
    ids: tuple[str, ...]


def stuck(session: Session, now: datetime, *, places: int | None = None) -> Mapping[str, Stuck]:
    """What is stuck, by kind (the keys of `WORDS`); empty where all is well.

    `places` is how many runs all processes together can work on: while that many run, those in the queue wait rightly.
    None counts them all the same.
    """
    found = {
        "delivery": _deliveries(session, now),
        "run_queued": _queued(session, now, places),
        "run_running": _running(session, now),
        "post_pending": _pending(session, now),
        "post_unsure": _unsure(session, now),
        "gate": _gates(session, now),
        "log_unread": _log(session, now),
    }
    return {kind: one for kind, one in found.items() if one is not None}


def told(kind: str, one: Stuck, now: datetime) -> str:
    """One kind in words: how many of what, since when, which."""
    minutes = int((now - one.oldest).total_seconds() // 60)
    return f"{one.count} {WORDS[kind]}; the oldest {minutes} min, {', '.join(one.ids)}"


def _of(rows: list[tuple[str, datetime]]) -> Stuck | None:
    """The rows as one figure."""
    rows.sort(key=lambda row: row[1])
    return Stuck(len(rows), rows[0][1], tuple(row[0] for row in rows[:SHOWN])) if rows else None


def _count(session: Session, key: Any, since: Any, *where: ColumnElement[bool] | bool) -> Stuck | None:
    """The same where there may be many: counted by the database."""
    count, oldest = session.exec(select(func.count(key), func.min(since)).where(*where)).one()
    if not count:
        return None
    ids = session.exec(select(key).where(*where).order_by(since, key).limit(SHOWN)).all()
    return Stuck(count, oldest, tuple(ids))


def _deliveries(session: Session, now: datetime) -> Stuck | None:
    since = func.coalesce(col(Delivery.not_before), col(Delivery.received_at))
    return _count(session, col(Delivery.id), since, Delivery.state == DeliveryState.NEW, since < now - LATE)


def _queued(session: Session, now: datetime, places: int | None) -> Stuck | None:
    """Runs whose turn it is."""
    if places is not None:
        running = session.exec(select(func.count(col(Run.id))).where(Run.state == RunState.RUNNING)).one()
        if running >= places:
            return None
    before = now - LATE
    since = func.coalesce(col(Run.not_before), col(Run.queued_at))
    late = session.exec(select(Run).where(has_turn(), since < before)).all()
    return _of([(run.id, at) for run in late if (at := turn_since(session, run)) < before])


def _running(session: Session, now: datetime) -> Stuck | None:
    """Runs of processes that are dead. One that is alone on its database (SQLite) holds its lock, and beats once."""
    alone = session.get_bind().dialect.name == "sqlite"
    lives = and_(col(Process.id) == col(Run.lease_owner), or_(alone, col(Process.beat_at) > now - LEFT))
    held = exists(select(Process.id).where(lives))
    since = func.coalesce(col(Run.started_at), col(Run.queued_at))
    return _count(session, col(Run.id), since, Run.state == RunState.RUNNING, since < now - LEFT, not_(held))


def _pending(session: Session, now: datetime) -> Stuck | None:
    """Posts that nothing holds back. An edit of what stands there counts once it was put off: until when is known."""
    since = func.coalesce(col(Outbox.not_before), col(Outbox.created_at))
    rows = session.exec(
        select(Outbox.id, since, Thread.installation_id)
        .join(Thread, col(Thread.id) == col(Outbox.thread_id))
        .where(
            Outbox.state == OutboxState.PENDING,
            since < now - UNSAID,
            or_(col(Outbox.posted_id).is_(None), col(Outbox.not_before).is_not(None)),
        )
    ).all()
    moving = {installation for installation in {row[2] for row in rows} if _moves(session, installation, now)}
    return _of([(row[0], row[1]) for row in rows if row[2] not in moving or row[1] < now - UNSAID_AT_MOST])


def _moves(session: Session, installation: int, now: datetime) -> bool:
    """Whether posts of an installation leave, or a limit of GitHub's lets none leave."""
    meter = session.get(Meter, installation)
    if meter is not None and meter.blocked_until is not None and meter.blocked_until > now:
        return True
    created = select(func.count(col(Creation.id))).where(
        Creation.installation_id == installation, col(Creation.at) > now - timedelta(hours=1)
    )
    if session.exec(created).one() >= HOURLY:
        return True
    sent = (
        select(Outbox.id)
        .join(Thread, col(Thread.id) == col(Outbox.thread_id))
        .where(Thread.installation_id == installation, col(Outbox.sent_at) > now - UNSAID)
        .limit(1)
    )
    return session.exec(sent).first() is not None


def _unsure(session: Session, now: datetime) -> Stuck | None:
    """Posts that were sent and not found, for longer than the last look takes."""
    since = func.coalesce(col(Outbox.sent_at), col(Outbox.created_at))
    return _count(session, col(Outbox.id), since, Outbox.state == OutboxState.UNSURE, since < now - UNSAID)


def _gates(session: Session, now: datetime) -> Stuck | None:
    since = col(Gate.deadline)
    waits = exists(select(Run.id).where(col(Run.id) == col(Gate.run_id), col(Run.state) == RunState.WAITING))
    return _count(session, col(Gate.id), since, Gate.state == GateState.OPEN, since < now - LATE, waits)


def _log(session: Session, now: datetime) -> Stuck | None:
    """A log that was never read is nobody's fault: there was no `serve` yet."""
    read = session.get(Landmark, READING)
    if read is None or read.at >= now - UNREAD:
        return None
    return Stuck(1, read.at, (READING,))
