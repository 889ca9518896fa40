"""States of every durable row and the transitions each may take (one table, also the source of the documentation)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from bot.errors import IllegalTransition

S = TypeVar("S", bound=StrEnum)


class DeliveryState(StrEnum):
    NEW = "new"
    PLANNED = "planned"
    IGNORED = "ignored"
    FAILED = "failed"


class DispatchState(StrEnum):
    QUEUED = "queued"
    STARTED = "started"
    DONE = "done"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    SET_ASIDE = "set_aside"


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BUDGET_EXCEEDED = "budget_exceeded"
    TIMED_OUT = "timed_out"
    SET_ASIDE = "set_aside"

    @property
    def ended(self) -> bool:
        return self not in (RunState.QUEUED, RunState.RUNNING, RunState.WAITING)


class AttemptState(StrEnum):
    RUNNING = "running"
    WAITING = "waiting"
    SUCCESS = "success"
    FAIL = "fail"
    SKIPPED = "skipped"
    TRANSIENT = "transient"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self not in (AttemptState.RUNNING, AttemptState.WAITING)


class GateState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    VOID = "void"
    CANCELLED = "cancelled"


class OutboxState(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    POSTED = "posted"
    UNSURE = "unsure"
    DROPPED = "dropped"


class ArtifactState(StrEnum):
    CURRENT = "current"
    STALE = "stale"
    SUPERSEDED = "superseded"


_R, _A, _O = RunState, AttemptState, OutboxState
_RUN_ENDS = frozenset(s for s in RunState if s.ended)

#: From each state to the states that may follow; a state that is missing is final.
TRANSITIONS: Mapping[StrEnum, frozenset[StrEnum]] = {
    DeliveryState.NEW: frozenset({DeliveryState.PLANNED, DeliveryState.IGNORED, DeliveryState.FAILED}),
    DispatchState.QUEUED: frozenset(
        {DispatchState.STARTED, DispatchState.REFUSED, DispatchState.CANCELLED, DispatchState.SET_ASIDE}
    ),
    DispatchState.STARTED: frozenset({DispatchState.DONE, DispatchState.CANCELLED, DispatchState.SET_ASIDE}),
    _R.QUEUED: frozenset({_R.RUNNING, _R.CANCELLED, _R.SET_ASIDE, _R.TIMED_OUT}),
    _R.RUNNING: _RUN_ENDS | {_R.QUEUED, _R.WAITING},
    _R.WAITING: frozenset({_R.QUEUED, _R.CANCELLED, _R.TIMED_OUT, _R.SET_ASIDE}),
    _A.RUNNING: frozenset(s for s in AttemptState if s is not _A.RUNNING),
    _A.WAITING: frozenset(s for s in AttemptState if s is not _A.WAITING),
    GateState.OPEN: frozenset(s for s in GateState if s is not GateState.OPEN),
    _O.PENDING: frozenset({_O.SENDING, _O.DROPPED}),
    _O.SENDING: frozenset({_O.POSTED, _O.PENDING, _O.UNSURE, _O.DROPPED}),
    _O.UNSURE: frozenset({_O.POSTED, _O.PENDING, _O.DROPPED}),
    # the body of a posted slot may change (an index comment): it is sent again as an edit
    _O.POSTED: frozenset({_O.PENDING}),
    ArtifactState.CURRENT: frozenset({ArtifactState.STALE, ArtifactState.SUPERSEDED}),
    ArtifactState.STALE: frozenset({ArtifactState.SUPERSEDED}),
}


def follow(old: S, new: S) -> S:
    """Return `new` if it may follow `old`; raise `IllegalTransition` otherwise."""
    if new not in TRANSITIONS.get(old, frozenset()):
        raise IllegalTransition(f"{type(old).__name__}: {old} cannot become {new}")
    return new
