"""What came to an end, in the order of its end: attempts, runs, posts and spending since a time.

For metrics and traces, which look again and again, and must count nothing twice and miss nothing. A row is committed
some moments after the time that it bears, by a machine whose clock may be a little behind: so the last seconds are read
again each time, and what was seen in them is known by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from sqlalchemy import select
from sqlmodel import Session, col

from bot.model.ident import first_id
from bot.store.tables import Attempt, Dispatch, Outbox, Run, Spend

#: how long after the time it bears a row may be committed, clocks included
OVERLAP = timedelta(seconds=30)
#: rows that are read at once
MOST = 5_000

E = TypeVar("E", bound="Event")


@dataclass(frozen=True, slots=True)
class Event:
    """One row and when it ended."""

    id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AttemptEnded(Event):
    """An attempt: `code` is its failure's, empty where it has none."""

    kind: str
    state: str
    code: str
    seconds: float


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """A run: `seconds` since it was asked for."""

    state: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Posted(Event):
    """Something that stands on GitHub: `seconds` since its dispatch was accepted, for a result of a run."""

    action: str
    purpose: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Spent(Event):
    """A model call."""

    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None


#: what ended after a time, oldest first, `MOST` at most
Read = Callable[[Session, datetime], Sequence[E]]


class Cursor(Generic[E]):
    """How far one kind was read. `start` is when reading begins: what ended before is left out."""

    def __init__(self, read: Read[E], start: datetime) -> None:
        self._read = read
        self._start = start
        self._newest = start
        self._seen: dict[str, datetime] = {}

    def next(self, session: Session) -> list[E]:
        """What has ended since the last time."""
        fresh: list[E] = []
        since = max(self._start, self._newest - OVERLAP)
        while True:
            rows = self._read(session, since)
            found = [row for row in rows if row.id not in self._seen]
            for row in found:
                self._seen[row.id] = row.at
            fresh += found
            if len(rows) < MOST or not found:
                break
            since = rows[-1].at
        self._newest = max([self._newest, *(row.at for row in fresh)])
        edge = self._newest - OVERLAP
        self._seen = {key: at for key, at in self._seen.items() if at >= edge}
        return fresh


def attempts(session: Session, since: datetime) -> Sequence[AttemptEnded]:
    """Attempts, those that a retry took over left out: they ended in the run before."""
    rows = session.execute(
        select(
            col(Attempt.id),
            col(Attempt.ended_at),
            col(Attempt.kind),
            col(Attempt.state),
            col(Attempt.error),
            col(Attempt.started_at),
        )
        .where(col(Attempt.ended_at) >= since, col(Attempt.taken_from).is_(None))
        .order_by(col(Attempt.ended_at), col(Attempt.id))
        .limit(MOST)
    )
    return [
        AttemptEnded(key, ended, kind, str(state), str((error or {}).get("code", "")), _seconds(started, ended))
        for key, ended, kind, state, error, started in rows
        if ended is not None
    ]


def runs(session: Session, since: datetime) -> Sequence[RunEnded]:
    """Runs."""
    rows = session.execute(
        select(col(Run.id), col(Run.ended_at), col(Run.state), col(Dispatch.created_at))
        .join(Dispatch, col(Dispatch.id) == col(Run.dispatch_id))
        # the index begins with it, and what ended a moment ago was not purged
        .where(col(Run.purged_at).is_(None), col(Run.ended_at) >= since)
        .order_by(col(Run.ended_at), col(Run.id))
        .limit(MOST)
    )
    return [
        RunEnded(key, ended, str(state), _seconds(asked, ended))
        for key, ended, state, asked in rows
        if ended is not None
    ]


def posted(session: Session, since: datetime) -> Sequence[Posted]:
    """What was posted."""
    rows = session.execute(
        select(col(Outbox.id), col(Outbox.posted_at), col(Outbox.action), col(Outbox.purpose), col(Dispatch.created_at))
        .outerjoin(Run, col(Run.id) == col(Outbox.run_id))
        .outerjoin(Dispatch, col(Dispatch.id) == col(Run.dispatch_id))
        .where(col(Outbox.posted_at) >= since)
        .order_by(col(Outbox.posted_at), col(Outbox.id))
        .limit(MOST)
    )
    return [
        # an edit of it is another one
        Posted(f"{key}@{at.isoformat()}", at, action, purpose, _asked(purpose, asked, at))
        for key, at, action, purpose, asked in rows
        if at is not None
    ]


def _asked(purpose: str, asked: datetime | None, at: datetime) -> float | None:
    return _seconds(asked, at) if asked is not None and purpose == "result" else None


def spent(session: Session, since: datetime) -> Sequence[Spent]:
    """Model calls, by id: what is spent is one row that never changes."""
    rows = session.execute(
        select(
            col(Spend.id),
            col(Spend.at),
            col(Spend.model),
            col(Spend.input_tokens),
            col(Spend.output_tokens),
            col(Spend.cost),
        )
        .where(col(Spend.id) >= first_id(since))
        .order_by(col(Spend.id))
        .limit(MOST)
    )
    return [Spent(key, at, model, put, got, cost) for key, at, model, put, got, cost in rows]


def _seconds(start: datetime | None, end: datetime | None) -> float:
    return 0.0 if start is None or end is None else max(0.0, (end - start).total_seconds())
