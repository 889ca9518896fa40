"""Who holds a run, and what becomes of it when that process is dead."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Table, bindparam, union_all
from sqlalchemy import select as rows_of
from sqlmodel import Session, col, func, select

from bot.model.state import AttemptState, RunState, follow
from bot.store import processes, runs
from bot.store.prepared import Prepared, one_of
from bot.store.tables import Artifact, Attempt, Frame, Gate, Outbox, Run, Steer, Value

#: made once: to put a statement together costs more than to run it, and these run for every claim and write of a run
_RUNNING = select(Run.id).where(Run.state == RunState.RUNNING, Run.lease_owner == bindparam("owner")).limit(1)
_RUN: Table = Run.__table__  # type: ignore[attr-defined]  # SQLModel types no table
_SUSPECT = Prepared(
    rows_of(_RUN.c.id)
    .where(_RUN.c.suspect.is_(True), one_of(_RUN.c.state, [RunState.QUEUED, RunState.RUNNING]))
    .limit(1)
)
_HOLDER = Prepared(rows_of(_RUN.c.state, _RUN.c.lease_owner).where(_RUN.c.id == bindparam("run_id")))
_NEWEST_IDS = Prepared(
    union_all(
        *(
            select(func.max(col(table.id))).where(col(table.run_id) == bindparam("run_id"))
            for table in (Attempt, Value, Frame, Outbox, Gate, Artifact, Steer)
        )
    )
)


def any_running(session: Session, owner: str) -> bool:
    """Whether `owner` holds a run."""
    return session.exec(_RUNNING, params={"owner": owner}).first() is not None


def any_suspect(session: Session) -> bool:
    """Whether a run that one death interrupted together with others has not come to rest since."""
    return _SUSPECT.first(session) is not None


def held(session: Session, run_id: str, owner: str) -> bool:
    """Whether `owner` holds the run, or it is over: the fence of everything that is written for it.

    Nothing comes of what is written for a run that is over.
    """
    found = _HOLDER.first(session, {"run_id": run_id})
    if found is None:
        return True
    state, holder = found
    return bool(state.ended or (state is RunState.RUNNING and holder == owner))


def held_by_others(session: Session, owner: str) -> set[str]:
    """Ids of the runs that others than `owner` hold."""
    return set(session.exec(select(Run.id).where(Run.state == RunState.RUNNING, col(Run.lease_owner) != owner)))


def orphans(session: Session, owner: str) -> dict[str, list[str]]:
    """The runs that are held by processes which are dead, by process; `owner` is the one who asks, and lives."""
    found = session.exec(
        select(Run.id, Run.lease_owner)
        .where(Run.state == RunState.RUNNING, col(Run.lease_owner) != owner)
        .order_by(col(Run.id))
    ).all()
    living = processes.living(session, owner) if found else set()
    left: dict[str, list[str]] = {}
    for run_id, holder in found:
        if holder is not None and holder not in living:
            left.setdefault(holder, []).append(run_id)
    return left


def recover(session: Session, owner: str, now: datetime) -> list[str]:
    """Take over what dead processes left: running attempts become `interrupted`, their runs go to the front.

    The death of one process that interrupted several runs says nothing about any of them: those are suspects, of which
    a process holds one at a time, and nothing beside it, until they have ended: a further death tells which it was.
    """
    taken = []
    for left in orphans(session, owner).values():
        code = "interrupted" if len(left) == 1 else "interrupted_with_others"
        for run_id in left:
            run = session.get_one(Run, run_id)
            run.suspect = run.suspect or len(left) > 1
            for attempt in session.exec(
                select(Attempt).where(Attempt.run_id == run_id, Attempt.state == AttemptState.RUNNING)
            ).all():
                if runs.put_back(session, attempt):
                    continue
                attempt.state = follow(attempt.state, AttemptState.INTERRUPTED)
                attempt.ended_at = now
                attempt.error = {"code": code, "message": "the process that ran it ended"}
                session.add(attempt)
            runs.release(session, run, now)
            taken.append(run_id)
    return taken


def newest_id(session: Session, run_id: str) -> str | None:
    """The newest id among a run's rows. Whoever goes on with it makes later ones, whatever his clock says."""
    found = _NEWEST_IDS.all(session, {"run_id": run_id})
    return max((one for (one,) in found if one is not None), default=None)
