"""What can never be said or done any more, and all that shares its fate."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from sqlalchemy import update
from sqlmodel import Session, col, select

from bot.model.state import OutboxState
from bot.store import outbox
from bot.store.tables import Outbox, Thread
from bot.store.turn import ELSEWHERE


class Reach(StrEnum):
    """How far the cause of a refusal reaches."""

    ROW = "row"
    THREAD = "thread"
    REPOSITORY = "repository"
    INSTALLATION = "installation"


def drop_all(
    session: Session,
    thread: Thread,
    reach: Reach,
    reason: str,
    *,
    spared: Collection[str] = (),
    on_pull: bool | None = None,
    sure: bool = False,
) -> int:
    """Drop what is open within `reach` of `thread`, without a call each: attempts that wait for it hear `reason`.

    What does not go to GitHub stays, so do the actions that are `spared`; `on_pull` is whether pull requests are meant,
    None both. What is unsure may stand there: it is left to be looked for unless its thread is gone for `sure`. Returns
    how many were dropped.
    """
    where = [
        col(Outbox.state).in_([OutboxState.PENDING, OutboxState.UNSURE] if sure else [OutboxState.PENDING]),
        col(Outbox.action).not_in({*ELSEWHERE, *spared}),
        _within(thread, reach),
    ]
    if on_pull is not None:
        where.append(col(Thread.is_pull_request) == on_pull)
    rows = session.exec(select(Outbox).join(Thread, col(Thread.id) == col(Outbox.thread_id)).where(*where)).all()
    for row in rows:
        outbox.drop(session, row.id, reason)
    return len(rows)


def close(session: Session, thread: Thread, reach: Reach, reason: str, now: datetime) -> None:
    """Nothing can be said in these threads any more, until GitHub tells of what happens in them later.

    See `threads.ensure`.
    """
    session.execute(update(Thread).where(_within(thread, reach)).values(gone=reason, gone_at=now))


def _within(thread: Thread, reach: Reach):  # type: ignore[no-untyped-def]  # SQLAlchemy's own type is private to it
    match reach:
        case Reach.INSTALLATION:
            return col(Thread.installation_id) == thread.installation_id
        case Reach.REPOSITORY:
            return col(Thread.repository_id) == thread.repository_id
        case _:
            return col(Thread.id) == thread.id
