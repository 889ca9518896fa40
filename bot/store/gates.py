"""Gates: what runs wait for, found by id, by state or by thread, and answered once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlmodel import Session, col, or_, select

from bot.model.state import GateState, follow
from bot.store import runs
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Dispatch, Frame, Gate, Outbox, Run, Thread

#: kinds that people answer; the others wait for an event, a time, or for what was posted
ASKED = ("answer", "approval")
#: of how many gates is looked whether they were open of late
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """A gate with what is around it. People call it by `name`, as `r1.approve`.

    `within` are the `uses` steps that its step stands in, the outermost first: a workflow that is used twice asks twice
    at once, as `r1.left.approve` and `r1.right.approve`. Ids are unique within one workflow, so no more is needed.
    """

    gate: Gate
    attempt: Attempt
    run: Run
    dispatch: Dispatch
    thread: Thread
    within: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return ".".join((f"r{self.run.number}", *self.within, self.attempt.step))

    def is_called(self, name: str) -> bool:
        """Whether people may mean it by a name: its own, or without what it stands in."""
        return name.casefold() in (self.name.casefold(), f"r{self.run.number}.{self.attempt.step}".casefold())


def get(session: Session, gate_id: str) -> Asked | None:
    """The gate of that id, of a kind that people answer."""
    return next(iter(_found(session, col(Gate.kind).in_(ASKED), Gate.id == gate_id)), None)


def listed(session: Session, state: GateState | None, *, before: str | None = None, limit: int = 50) -> list[Asked]:
    """Gates that people answer, newest first: those in `state`, and older than the gate `before`."""
    where: list[Any] = [col(Gate.kind).in_(ASKED)]
    if state is not None:
        where.append(col(Gate.state) == state)
    if before is not None:
        where.append(col(Gate.id) < before)
    return _found(session, *where, limit=limit)


def open_in(session: Session, thread_id: str) -> list[Asked]:
    """What the thread's runs ask people now, oldest first."""
    where = (col(Gate.kind).in_(ASKED), Gate.state == GateState.OPEN, Run.thread_id == thread_id)
    return _found(session, *where)[::-1]


def called(session: Session, thread_id: str, name: str) -> Asked | None:
    """The newest gate that people of the thread call so (`r5.approve`), or of that run (`r5`), open or not."""
    number, _, rest = name.partition(".")
    if not number[1:].isdigit():
        return None
    where = (Run.thread_id == thread_id, Run.number == int(number[1:]))
    found = _found(session, col(Gate.kind).in_(ASKED), *where)
    return next((one for one in found if not rest or one.is_called(name)), None)


def of_run(session: Session, run_id: str) -> list[Asked]:
    """Everything that a run has asked people, newest first."""
    return _found(session, col(Gate.kind).in_(ASKED), Gate.run_id == run_id)


def asked_since(session: Session, thread_id: str, since: datetime) -> bool:
    """Whether people are asked something in a thread now, or were at that time or later."""
    if open_in(session, thread_id):
        return True
    return any(_until(one) >= since for one in newest(session, thread_id, _LOOKED_AT))


def newest(session: Session, thread_id: str, limit: int = 1) -> list[Asked]:
    """What the thread's runs asked people last, newest first, open or not."""
    return _found(session, col(Gate.kind).in_(ASKED), Run.thread_id == thread_id, limit=limit)


def _until(asked: Asked) -> datetime:
    """Until when a gate that is not open any more was, as far as its rows tell."""
    gate = asked.gate
    at = (gate.answer or {}).get("at")
    ends = [asked.run.queued_at, gate.opened_at]
    if isinstance(at, str):
        ends.append(datetime.fromisoformat(at))
    elif gate.state is GateState.EXPIRED:
        ends.append(gate.deadline)
    else:
        ends.append(asked.run.ended_at)
    return max(end for end in ends if end is not None)


def requesters(session: Session, asked: Asked) -> frozenset[int]:
    """Whoever asked for a run: also for the run that started it, and for the one that it repeats."""
    found: set[int] = set()
    ahead = [(asked.run, asked.dispatch)]
    seen: set[str] = set()
    while ahead:
        run, dispatch = ahead.pop()
        found.add(dispatch.actor_id)
        # a dispatch that a run made has the id of the row that had it made
        made_by = session.get(Outbox, dispatch.id)
        for run_id in (run.retry_of, made_by.run_id if made_by is not None else None):
            before = session.get(Run, run_id) if run_id is not None and run_id not in seen else None
            if before is not None:
                seen.add(before.id)
                ahead.append((before, session.get_one(Dispatch, before.dispatch_id)))
    return frozenset(found)


def cancelled(session: Session, run_id: str) -> list[Asked]:
    """What a run itself had asked people when it was called off."""
    return _found(
        session,
        col(Gate.kind).in_(ASKED),
        Gate.run_id == run_id,
        Gate.state == GateState.CANCELLED,
        col(Attempt.taken_from).is_(None),
    )


def asking(session: Session, run_id: str) -> list[Asked]:
    """What a run asks people now, oldest first."""
    return _found(session, col(Gate.kind).in_(ASKED), Gate.run_id == run_id, Gate.state == GateState.OPEN)[::-1]


def expecting(session: Session, thread_id: str, event: str, now: datetime) -> list[Asked]:
    """The open gates of a thread's runs that wait for an event, newest first, those out of time left out."""
    found = _found(
        session,
        Gate.kind == "event",
        Gate.state == GateState.OPEN,
        or_(col(Gate.deadline).is_(None), col(Gate.deadline) > now),
        Run.thread_id == thread_id,
    )
    return [one for one in found if one.gate.options.get("event") == event]


def _found(session: Session, *where: Any, limit: int | None = None) -> list[Asked]:
    query = (
        select(Gate, Attempt, Run, Dispatch)
        .join(Attempt, col(Attempt.id) == col(Gate.attempt_id))
        .join(Run, col(Run.id) == col(Gate.run_id))
        .join(Dispatch, col(Dispatch.id) == col(Run.dispatch_id))
        .where(*where)
        .order_by(col(Gate.id).desc())
        .limit(limit)
    )
    return [
        Asked(*row, session.get_one(Thread, row[2].thread_id), _within(partial(session.get_one, Frame), row[1]))
        for row in session.exec(query).all()
    ]


def asked_in(rows: RunRows, gate: Gate) -> Asked:
    """A gate of a run whose rows have been read, with what is around it there."""
    attempt = next(one for one in rows.attempts if one.id == gate.attempt_id)
    frames = {one.id: one for one in rows.frames}
    return Asked(gate, attempt, rows.run, rows.dispatch, rows.thread, _within(frames.__getitem__, attempt))


def _within(frame_of: Callable[[str], Frame], attempt: Attempt) -> tuple[str, ...]:
    found: list[str] = []
    frame_id: str | None = attempt.frame_id
    while frame_id is not None:
        frame = frame_of(frame_id)
        if frame.workflow is not None and frame.step is not None:
            found.append(frame.step)
        frame_id = frame.parent_id
    return tuple(reversed(found))


def settle(session: Session, gate: Gate, answer: dict[str, Any]) -> None:
    """An open gate is answered: its run goes on. Raises `IllegalTransition` for one that is not open."""
    gate.state = follow(gate.state, GateState.ANSWERED)
    gate.answer, gate.note = answer, ""
    session.add(gate)
    session.flush()
    runs.wake(session, gate.run_id)


def void(session: Session, gate: Gate, why: str) -> None:
    """An answer does not count: the run asks again, or gives up. Raises `IllegalTransition` as `settle` does."""
    gate.state = follow(gate.state, GateState.VOID)
    gate.note = why
    session.add(gate)
    session.flush()
    runs.wake(session, gate.run_id)


def cancel(session: Session, run_id: str) -> None:
    """A run has ended: nothing is waited for in it any more."""
    for gate in session.exec(select(Gate).where(Gate.run_id == run_id, Gate.state == GateState.OPEN)).all():
        gate.state = follow(gate.state, GateState.CANCELLED)
        session.add(gate)
    session.flush()
