"""When workflows are due by the clock: what the default branches say, and when each is due next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlmodel import Session, col, func, select

from bot.store.database import ring
from bot.store.tables import Schedule


class Wanted(NamedTuple):
    """What a workflow says. `thread` is None where each time an issue is opened."""

    cron: str
    thread: int | None


def keep(
    session: Session,
    repository_id: int,
    wanted: Mapping[str, Wanted],
    next_at: Callable[[str], datetime],
    *,
    installation_id: int,
    repository: dict[str, Any],
    commit: str,
) -> None:
    """Bring a repository's rows up to date; a time that stays as it was is due when it was due."""
    rows = {row.workflow: row for row in session.exec(select(Schedule).where(Schedule.repository_id == repository_id))}
    for name in rows.keys() - wanted.keys():
        session.delete(rows[name])
    for name, one in wanted.items():
        row = rows.get(name)
        if row is None or row.cron != one.cron:
            due = next_at(one.cron)
            row = row or Schedule(repository_id=repository_id, installation_id=0, workflow=name, cron="", next_at=due)
            row.cron, row.next_at = one.cron, due
            ring(session, "schedule")
        row.thread, row.commit = one.thread, commit
        row.installation_id, row.repository = installation_id, repository
        session.add(row)
    session.flush()


def due(session: Session, now: datetime, limit: int = 64) -> list[Schedule]:
    """Those whose time has come, the oldest first."""
    return list(
        session.exec(select(Schedule).where(col(Schedule.next_at) <= now).order_by(col(Schedule.next_at)).limit(limit))
    )


def next_due(session: Session) -> datetime | None:
    """When the earliest of all is due."""
    return session.exec(select(func.min(Schedule.next_at))).one()


def drop_others(session: Session, installation_id: int, repositories: Collection[int]) -> None:
    """Forget what repositories wanted that the installation no longer has."""
    for row in session.exec(select(Schedule).where(Schedule.installation_id == installation_id)):
        if row.repository_id not in repositories:
            session.delete(row)


def drop_installations(session: Session, known: Collection[int]) -> None:
    """Forget what was wanted where the App is installed no longer."""
    for row in session.exec(select(Schedule)):
        if row.installation_id not in known:
            session.delete(row)
