"""What was spent and asked in a time, for limits and ceilings."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Table, bindparam
from sqlalchemy import select as rows_of
from sqlmodel import Session, col, func, select

from bot.model.state import DispatchState
from bot.store.tables import Attempt, Dispatch, Run, Spend, Thread

_SPEND: Table = Spend.__table__  # type: ignore[attr-defined]  # SQLModel types no table
#: made once, and asked of the connection, as it is at every start of a step
_SPENT = rows_of(func.sum(_SPEND.c.cost)).where(_SPEND.c.at >= bindparam("since"))


def spent(
    session: Session,
    since: datetime,
    *,
    repository_id: int | None = None,
    thread_id: str | None = None,
    actor_id: int | None = None,
) -> float:
    """US dollars since then, of the whole instance or narrowed to what is named."""
    if (repository_id, thread_id, actor_id) == (None, None, None):
        if any(isinstance(row, Spend) for row in session.new):
            session.flush()
        return session.connection().execute(_SPENT, {"since": since}).scalar() or 0.0
    query = select(func.sum(col(Spend.cost))).where(col(Spend.at) >= since)
    if repository_id is not None:
        query = query.where(Spend.repository_id == repository_id)
    if thread_id is not None:
        query = query.where(Spend.thread_id == thread_id)
    if actor_id is not None:
        query = query.where(Spend.actor_id == actor_id)
    return session.exec(query).one() or 0.0


def dispatched(
    session: Session,
    since: datetime,
    *,
    repository_id: int,
    thread_id: str | None = None,
    actor_id: int | None = None,
) -> int:
    """Dispatches accepted since then in a repository, narrowed to what is named."""
    query = (
        select(func.count(col(Dispatch.id)))
        .join(Thread, col(Thread.id) == col(Dispatch.thread_id))
        .where(
            col(Dispatch.created_at) >= since,
            Thread.repository_id == repository_id,
            col(Dispatch.state) != DispatchState.REFUSED,
        )
    )
    if thread_id is not None:
        query = query.where(Dispatch.thread_id == thread_id)
    if actor_id is not None:
        query = query.where(Dispatch.actor_id == actor_id)
    return session.exec(query).one()


def of_dispatch(session: Session, dispatch_id: str) -> tuple[float, int]:
    """What the run of a dispatch has used so far: US dollars and tokens. What it took over was paid elsewhere."""
    query = (
        select(
            func.sum(col(Attempt.cost)),
            func.sum(col(Attempt.input_tokens) + col(Attempt.output_tokens)),
        )
        .join(Run, col(Run.id) == col(Attempt.run_id))
        .where(Run.dispatch_id == dispatch_id, col(Attempt.taken_from).is_(None))
    )
    usd, tokens = session.exec(query).one()
    # PostgreSQL adds up integers to a number that is a `Decimal` here
    return usd or 0.0, int(tokens or 0)
