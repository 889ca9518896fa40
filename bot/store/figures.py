"""How much there is of everything, and how long the oldest of it waits: each figure one read over an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, func, or_, select

from bot.model.state import DeliveryState, OutboxState
from bot.store import posts
from bot.store.due import moment
from bot.store.processes import DEAD_AFTER
from bot.store.run_turn import in_turn, turn_since
from bot.store.tables import Allowance, Delivery, Dispatch, Duty, Outbox, Process, Run

#: runs whose turn it is that are looked at for the oldest: one that goes on is known by when it came back
_LOOKED_AT = 20
#: allowances that are told; more installations than that make no readable figure
_ALLOWANCES = 1_000


@dataclass(frozen=True, slots=True)
class Figures:
    """The rows as numbers, at one moment."""

    at: datetime
    #: by state and origin
    deliveries: Mapping[tuple[str, str], int]
    dispatches: Mapping[str, int]
    runs: Mapping[str, int]
    #: what is open in the outbox, by state; what was given up, by reason
    posts: Mapping[str, int]
    dropped: Mapping[str, int]
    #: `delivery`, `run`, `post`: seconds for which the oldest that could move has waited, 0 where none is
    ages: Mapping[str, float]
    allowances: tuple[Allowance, ...]
    #: processes that live, by kind
    processes: Mapping[str, int]
    #: whether a living process has it, by duty
    duties: Mapping[str, bool]


def figures(session: Session, now: datetime, time: datetime, own: str = "") -> Figures:
    """All of them; `now` is this process's time, `time` the database's, by which processes live.

    `own` is this process, which lives: one that is alone on its database need not prove it.
    """
    living = _living(session, time, own)
    return Figures(
        at=now,
        deliveries=_counted(session, col(Delivery.state), col(Delivery.origin)),
        dispatches=_counted_by(session, col(Dispatch.state)),
        runs=_counted_by(session, col(Run.state)),
        posts=_counted_by(session, col(Outbox.state), col(Outbox.state).in_(posts.OPEN)),
        dropped=_counted_by(session, col(Outbox.reason), Outbox.state == OutboxState.DROPPED),
        ages={"delivery": _delivery_age(session, now), "run": _run_age(session, now), "post": _post_age(session, now)},
        allowances=tuple(
            session.exec(
                select(Allowance).order_by(col(Allowance.installation_id), col(Allowance.resource)).limit(_ALLOWANCES)
            )
        ),
        processes=Counter(living.values()),
        duties={row.name: row.owner in living for row in session.exec(select(Duty))},
    )


def _counted_by(session: Session, key: Any, *where: Any) -> dict[str, int]:
    return {str(one): count for one, count in session.execute(select(key, func.count()).where(*where).group_by(key))}


def _counted(session: Session, key: Any, other: Any) -> dict[tuple[str, str], int]:
    rows = session.execute(select(key, other, func.count()).group_by(key, other))
    return {(str(one), str(two)): count for one, two, count in rows}


def _living(session: Session, time: datetime, own: str = "") -> dict[str, str]:
    """Kind of each process that lives, by id."""
    beats = col(Process.beat_at) > time - DEAD_AFTER
    alive = session.exec(select(Process).where(or_(beats, Process.id == own)))
    return {row.id: row.kind for row in alive}


def unheld(session: Session, names: Collection[str], time: datetime) -> set[str]:
    """Those of the duties that nobody who lives has; `time` is the database's."""
    living = _living(session, time)
    held = {row.name for row in session.exec(select(Duty).where(col(Duty.name).in_(names))) if row.owner in living}
    return set(names) - held


def blocked(session: Session, now: datetime) -> Mapping[int, datetime]:
    """Installations that must not ask something now, and until when."""
    rows = session.exec(
        select(Allowance.installation_id, func.max(Allowance.blocked_until))
        .where(col(Allowance.blocked_until) > now)
        .group_by(col(Allowance.installation_id))
        .order_by(col(Allowance.installation_id))
    )
    return {installation: until for installation, until in rows if until is not None}


def oldest_delivery(session: Session, now: datetime) -> tuple[str, datetime] | None:
    """The delivery that could have been looked at for the longest time, and since when."""
    new = Delivery.state == DeliveryState.NEW
    fresh = session.exec(select(func.min(Delivery.id)).where(new, col(Delivery.not_before).is_(None))).one()
    found = [(fresh, session.exec(select(Delivery.received_at).where(Delivery.id == fresh)).one())] if fresh else []
    put_off = session.exec(
        select(Delivery.id, Delivery.not_before)
        .where(new, col(Delivery.not_before) <= now)
        .order_by(col(Delivery.not_before))
        .limit(1)
    ).first()
    if put_off is not None and put_off[1] is not None:
        found.append((put_off[0], put_off[1]))
    return min(found, key=lambda one: one[1], default=None)


def oldest_run(session: Session, now: datetime) -> tuple[str, datetime] | None:
    """The run whose turn it has been for the longest time (see `runs.claim`), and since when."""
    found = in_turn(_LOOKED_AT).objects(session, moment(now))
    return min(((run.id, turn_since(session, run)) for run in found), key=lambda one: one[1], default=None)


def _delivery_age(session: Session, now: datetime) -> float:
    return _age(oldest_delivery(session, now), now)


def _run_age(session: Session, now: datetime) -> float:
    return _age(oldest_run(session, now), now)


def _post_age(session: Session, now: datetime) -> float:
    """What is put off counts from then on. An edit that is not says nothing of when it was wished for."""
    pending = Outbox.state == OutboxState.PENDING
    at_once = select(func.min(Outbox.created_at)).where(
        pending, col(Outbox.not_before).is_(None), col(Outbox.posted_id).is_(None)
    )
    put_off = select(func.min(Outbox.not_before)).where(pending, col(Outbox.not_before) <= now)
    times = [session.exec(query).one() for query in (at_once, put_off)]
    return max((_age(("", time), now) for time in times if time is not None), default=0.0)


def _age(found: tuple[str, datetime] | None, now: datetime) -> float:
    return 0.0 if found is None else max(0.0, (now - found[1]).total_seconds())
