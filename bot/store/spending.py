"""What was spent and asked in a time, for limits and ceilings."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from math import inf

from sqlalchemy import Table, bindparam
from sqlalchemy import select as rows_of
from sqlmodel import Session, col, func, select

from bot.model.state import DispatchState
from bot.store.prepared import Prepared
from bot.store.tables import Attempt, Dispatch, Run, Spend, Thread

_SPEND: Table = Spend.__table__  # type: ignore[attr-defined]  # SQLModel types no table
_DISPATCH: Table = Dispatch.__table__  # type: ignore[attr-defined]  # SQLModel types no table
_THREAD: Table = Thread.__table__  # type: ignore[attr-defined]  # SQLModel types no table
#: what a day is to all that bounds one
DAY = timedelta(days=1)


def day_is_spent(session: Session, ceiling: float, now: datetime) -> bool:
    """Whether the instance has spent its `ceiling` (US dollars) in the last 24 hours; without one nothing is asked."""
    return ceiling < inf and spent(session, now - DAY) >= ceiling


def spent(
    session: Session,
    since: datetime,
    *,
    repository_id: int | None = None,
    thread_id: str | None = None,
    actor_id: int | None = None,
) -> float:
    """US dollars since then, of the whole instance or narrowed to what is named."""
    named = _named(repository_id=repository_id, thread_id=thread_id, actor_id=actor_id)
    return _spent(frozenset(named)).scalar(session, {"since": since, **named}) or 0.0


def dispatched(
    session: Session,
    since: datetime,
    *,
    repository_id: int,
    thread_id: str | None = None,
    actor_id: int | None = None,
) -> int:
    """Dispatches accepted since then in a repository, narrowed to what is named."""
    named = _named(repository_id=repository_id, thread_id=thread_id, actor_id=actor_id)
    return int(_dispatched(frozenset(named)).scalar(session, {"since": since, **named}))


def _named(**scope: int | str | None) -> dict[str, int | str]:
    return {name: value for name, value in scope.items() if value is not None}


@cache
def _spent(named: frozenset[str]) -> Prepared:
    """Made once for what is named: putting a statement together costs more than running it."""
    scope = (_SPEND.c[name] == bindparam(name) for name in sorted(named))
    return Prepared(rows_of(func.sum(_SPEND.c.cost)).where(_SPEND.c.at >= bindparam("since"), *scope))


@cache
def _dispatched(named: frozenset[str]) -> Prepared:
    """As `_spent`."""
    columns = {"repository_id": _THREAD.c.repository_id} | {
        name: _DISPATCH.c[name] for name in ("thread_id", "actor_id")
    }
    return Prepared(
        rows_of(func.count(_DISPATCH.c.id))
        .join(_THREAD, _THREAD.c.id == _DISPATCH.c.thread_id)
        .where(
            _DISPATCH.c.created_at >= bindparam("since"),
            _DISPATCH.c.state != DispatchState.REFUSED,
            *(columns[name] == bindparam(name) for name in sorted(named)),
        )
    )


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
