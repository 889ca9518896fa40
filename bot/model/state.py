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


_RUN_ENDS = frozenset(s for s in RunState if s.ended)
_ATTEMPT_ENDS = frozenset(s for s in AttemptState if s.ended)

#: Of each kind, from each state to the states that may follow; a state that is missing is final. Kinds are kept apart:
#: a `StrEnum` compares as its text, so `queued` of one kind would be found under another.
TRANSITIONS: Mapping[type[StrEnum], Mapping[StrEnum, frozenset[StrEnum]]] = {
    DeliveryState: {
        DeliveryState.NEW: frozenset({DeliveryState.PLANNED, DeliveryState.IGNORED, DeliveryState.FAILED}),
        # `threadsmith replay`: looked at again
        DeliveryState.IGNORED: frozenset({DeliveryState.NEW}),
        DeliveryState.FAILED: frozenset({DeliveryState.NEW}),
    },
    DispatchState: {
        DispatchState.QUEUED: frozenset(
            {DispatchState.STARTED, DispatchState.REFUSED, DispatchState.CANCELLED, DispatchState.SET_ASIDE}
        ),
        DispatchState.STARTED: frozenset({DispatchState.DONE, DispatchState.CANCELLED, DispatchState.SET_ASIDE}),
    },
    RunState: {
        RunState.QUEUED: frozenset({RunState.RUNNING, RunState.CANCELLED, RunState.SET_ASIDE, RunState.TIMED_OUT}),
        RunState.RUNNING: _RUN_ENDS | {RunState.QUEUED, RunState.WAITING},
        RunState.WAITING: frozenset({RunState.QUEUED, RunState.CANCELLED, RunState.TIMED_OUT, RunState.SET_ASIDE}),
    },
    AttemptState: {
        AttemptState.RUNNING: _ATTEMPT_ENDS | {AttemptState.WAITING},
        AttemptState.WAITING: _ATTEMPT_ENDS | {AttemptState.RUNNING},
    },
    GateState: {
        GateState.OPEN: frozenset({GateState.ANSWERED, GateState.EXPIRED, GateState.VOID, GateState.CANCELLED}),
        # what an answer was bound to changed before its run went on
        GateState.ANSWERED: frozenset({GateState.VOID}),
        # it asks again
        GateState.VOID: frozenset({GateState.OPEN}),
    },
    OutboxState: {
        OutboxState.PENDING: frozenset({OutboxState.SENDING, OutboxState.DROPPED}),
        OutboxState.SENDING: frozenset(
            {OutboxState.POSTED, OutboxState.PENDING, OutboxState.UNSURE, OutboxState.DROPPED}
        ),
        OutboxState.UNSURE: frozenset({OutboxState.POSTED, OutboxState.PENDING, OutboxState.DROPPED}),
        # the body of a posted slot may change (an index comment): it is sent again as an edit
        OutboxState.POSTED: frozenset({OutboxState.PENDING}),
        # a thread's index or status has something new to say
        OutboxState.DROPPED: frozenset({OutboxState.PENDING}),
    },
    ArtifactState: {
        ArtifactState.CURRENT: frozenset({ArtifactState.STALE, ArtifactState.SUPERSEDED}),
        ArtifactState.STALE: frozenset({ArtifactState.SUPERSEDED}),
    },
}


def follow(old: S, new: S) -> S:
    """Return `new` if it may follow `old`; raise `IllegalTransition` otherwise."""
    if new not in TRANSITIONS[type(old)].get(old, frozenset()):
        raise IllegalTransition(f"{type(old).__name__}: {old} cannot become {new}")
    return new
