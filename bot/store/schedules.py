"""When workflows are due by the clock: what the default branches say, and when each is due next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, update
from sqlmodel import Session, col, func, or_, select

from bot.store.database import ring
from bot.store.tables import Schedule

#: when one is due whose repository rests: archived, or its installation suspended
NEVER = datetime(9999, 1, 1, tzinfo=UTC)


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
    """Bring a repository's rows up to date; a time that stays as it was is due when it was due.

    Whoever could read the configuration of a repository that rested has found it at work again.
    """
    rows = {row.workflow: row for row in session.exec(select(Schedule).where(Schedule.repository_id == repository_id))}
    for name in rows.keys() - wanted.keys():
        session.delete(rows[name])
    for name, one in wanted.items():
        row = rows.get(name)
        if row is None or row.cron != one.cron or row.next_at == NEVER:
            due = next_at(one.cron)
            row = row or Schedule(repository_id=repository_id, installation_id=0, workflow=name, cron="", next_at=due)
            row.cron, row.next_at = one.cron, due
            ring(session, "schedule")
        row.thread, row.commit = one.thread, commit
        row.installation_id, row.repository = installation_id, repository
        session.add(row)
    session.flush()


def find(session: Session, repository_id: int, workflow: str) -> Schedule | None:
    """The row of a workflow."""
    return session.exec(
        select(Schedule).where(Schedule.repository_id == repository_id, Schedule.workflow == workflow)
    ).first()


def rest(session: Session, *, repository_id: int | None = None, installation_id: int | None = None) -> None:
    """Nothing of a repository, or of an installation's repositories, is due until it is woken; it stays known."""
    session.execute(update(Schedule).where(_of(repository_id, installation_id)).values(next_at=NEVER))


def wake(
    session: Session,
    next_at: Callable[[str], datetime],
    *,
    repository_id: int | None = None,
    installation_id: int | None = None,
) -> None:
    """What rested is due again at its next time; what was missed meanwhile is not made up for."""
    query = select(Schedule).where(Schedule.next_at == NEVER, _of(repository_id, installation_id))
    for row in session.exec(query):
        row.next_at = next_at(row.cron)
        session.add(row)
    ring(session, "schedule")


def forget(session: Session, *, repository_id: int | None = None, installation_id: int | None = None) -> None:
    """Nothing of a repository, or of an installation's repositories, starts by the clock any more."""
    session.execute(delete(Schedule).where(_of(repository_id, installation_id)))


def rename(session: Session, repository_id: int, changed: dict[str, Any]) -> None:
    """The repository has another name or owner: `changed` are fields as payloads have them."""
    for row in session.exec(select(Schedule).where(Schedule.repository_id == repository_id)):
        row.repository = row.repository | changed
        session.add(row)


def _of(repository_id: int | None, installation_id: int | None) -> ColumnElement[bool]:
    return or_(col(Schedule.repository_id) == repository_id, col(Schedule.installation_id) == installation_id)


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
