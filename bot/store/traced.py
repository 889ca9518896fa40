"""Spans of what has ended, from the rows: delivery → dispatch → run → step → post.

Nothing of it is recorded while it happens, so traces cost nothing where nobody wants them, and what a killed process
did is in them too. Ids and stable words only: no text, no name of a repository or a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlmodel import Session, col

from bot.model.span import Span
from bot.store import happened
from bot.store.happened import Cursor, Event
from bot.store.tables import Attempt, Delivery, Dispatch, Frame, Landmark, Outbox, Run

#: the landmark of how far traces were sent
NAME = "traces"
#: of a set of ids in a query; SQLite takes 32,766 variables
_AT_ONCE = 500


class Ends:
    """What has ended since `start`, as spans."""

    def __init__(self, start: datetime) -> None:
        self._attempts = Cursor(happened.attempts, start)
        self._runs = Cursor(happened.runs, start)
        self._posted = Cursor(happened.posted, start)

    def next(self, session: Session) -> list[Span]:
        """Those that ended since the last time. A dispatch and its delivery are told with the run."""
        spans: list[Span] = []
        for ids in _pieces(self._attempts.next(session)):
            spans += _steps(session, ids)
        for ids in _pieces(self._runs.next(session)):
            spans += _runs(session, ids)
        for ids in _pieces(self._posted.next(session)):
            spans += _posts(session, [key.partition("@")[0] for key in ids])
        return spans


def reached(session: Session) -> datetime | None:
    """Up to when traces were sent."""
    row = session.get(Landmark, NAME)
    return row.at if row is not None else None


def reach(session: Session, at: datetime) -> None:
    """Traces were sent up to then."""
    row = session.get(Landmark, NAME) or Landmark(name=NAME, at=at)
    row.at = at
    session.add(row)


def _pieces(events: Sequence[Event]) -> list[list[str]]:
    ids = [event.id for event in events]
    return [ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE)]


def _steps(session: Session, ids: Sequence[str]) -> list[Span]:
    rows = session.execute(
        select(Attempt, col(Run.dispatch_id), col(Frame.attempt_id))
        .join(Run, col(Run.id) == col(Attempt.run_id))
        .join(Frame, col(Frame.id) == col(Attempt.frame_id))
        .where(col(Attempt.id).in_(ids))
    )
    return [
        Span(
            trace=dispatch_id,
            key=f"attempt/{attempt.id}",
            parent=f"attempt/{opened_by}" if opened_by else f"run/{attempt.run_id}",
            name=f"step {attempt.kind}",
            start=attempt.started_at,
            end=attempt.ended_at or attempt.started_at,
            attributes={
                "threadsmith.run": attempt.run_id,
                "threadsmith.attempt": attempt.id,
                "threadsmith.attempt.number": attempt.number,
                "threadsmith.step.kind": attempt.kind,
                "threadsmith.state": str(attempt.state),
                **({"threadsmith.code": code} if (code := (attempt.error or {}).get("code")) else {}),
            },
            failed=str(attempt.state) in ("fail", "transient", "interrupted"),
        )
        for attempt, dispatch_id, opened_by in rows
    ]


def _runs(session: Session, ids: Sequence[str]) -> list[Span]:
    """Runs; the first of a dispatch brings the dispatch and its delivery."""
    rows = session.execute(
        select(Run, Dispatch, col(Delivery.guid), col(Delivery.event), col(Delivery.received_at))
        .join(Dispatch, col(Dispatch.id) == col(Run.dispatch_id))
        .join(Delivery, col(Delivery.id) == col(Dispatch.delivery_id))
        .where(col(Run.id).in_(ids))
    )
    spans: list[Span] = []
    for run, dispatch, guid, event, received in rows:
        end = run.ended_at or run.queued_at
        spans.append(
            Span(
                trace=dispatch.id,
                key=f"run/{run.id}",
                parent=f"dispatch/{dispatch.id}",
                name="run",
                start=run.started_at or run.queued_at,
                end=end,
                attributes={"threadsmith.run": run.id, "threadsmith.state": str(run.state)},
                failed=str(run.state) not in ("succeeded", "cancelled"),
            )
        )
        shared = {"threadsmith.dispatch": dispatch.id, "threadsmith.delivery": dispatch.delivery_id}
        spans.append(
            Span(
                dispatch.id, f"dispatch/{dispatch.id}", f"delivery/{dispatch.id}", "dispatch", dispatch.created_at, end,
                {**shared, "threadsmith.state": str(dispatch.state)},
            )
        )  # fmt: skip
        # a delivery that led to several dispatches is in the trace of each
        spans.append(
            Span(
                dispatch.id, f"delivery/{dispatch.id}", None, "delivery", received, dispatch.created_at,
                {**shared, "threadsmith.guid": guid, "threadsmith.event": event},
            )
        )  # fmt: skip
    return spans


def _posts(session: Session, ids: Sequence[str]) -> list[Span]:
    rows = session.execute(
        select(Outbox, col(Run.dispatch_id)).join(Run, col(Run.id) == col(Outbox.run_id)).where(col(Outbox.id).in_(ids))
    )
    return [
        Span(
            trace=dispatch_id,
            key=f"post/{post.id}/{post.posted_at.isoformat()}",
            parent=f"attempt/{post.attempt_id}" if post.attempt_id else f"run/{post.run_id}",
            name=f"post {post.action}",
            start=post.sent_at or post.created_at,
            end=post.posted_at,
            attributes={
                "threadsmith.run": str(post.run_id),
                "threadsmith.post": post.id,
                "threadsmith.purpose": post.purpose,
            },
        )
        for post, dispatch_id in rows
        if post.posted_at is not None
    ]
