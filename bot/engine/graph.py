"""What of a run may start now: a pure function of its rows and its workflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.model.ident import digest
from bot.model.state import AttemptState, RunState
from bot.store.tables import Attempt
from bot.workflows import Retry, Step

#: interruptions of one step, without a success of the run in between, after which the run is set aside
INTERRUPTIONS = 3


@dataclass(frozen=True, slots=True)
class Start:
    """This attempt may start, at `not_before` where a retry has to wait."""

    step: str
    number: int
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The run is over. `step` is the one that decided it, None where all of them ran."""

    state: RunState
    step: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Busy:
    """An attempt is under way; nothing to start."""


Next = Start | End | Busy


def ready(steps: Sequence[Step], attempts: Sequence[Attempt]) -> Next:
    """What follows, for a straight run of `steps`. `attempts` are those of the root frame in the order they were made.

    The same rows always give the same answer, so going on after any crash continues where the rows stop.
    """
    for step in steps:
        mine = sorted((a for a in attempts if a.step == step.id), key=lambda attempt: attempt.number)
        if not mine:
            return Start(step.id, 1)
        last = mine[-1]
        match last.state:
            case AttemptState.SUCCESS | AttemptState.SKIPPED:
                continue
            case AttemptState.RUNNING | AttemptState.WAITING:
                return Busy()
            case AttemptState.INTERRUPTED:
                return _after_interruption(step, mine)
            case AttemptState.TRANSIENT:
                return _after_fault(step, mine)
            case AttemptState.CANCELLED:
                return End(RunState.CANCELLED, step.id)
            case AttemptState.FAIL:
                return _after_failure(step, last)
    return End(RunState.SUCCEEDED)


#: failures of a step that are really the end of the run's allowance
_ENDS = {"run_timed_out": RunState.TIMED_OUT}


def _after_failure(step: Step, last: Attempt) -> End:
    code = last.error.get("code", "")
    state = _ENDS.get(code, RunState.FAILED)
    return End(state, step.id, last.error.get("message", "") if code in _ENDS else f"{step.id} failed: {code}")


def _after_interruption(step: Step, mine: Sequence[Attempt]) -> Next:
    counted = 0
    for attempt in reversed(mine):
        if attempt.state is not AttemptState.INTERRUPTED:
            break
        # a graceful stop is nobody's fault, and of several that died together nobody knows whose it was
        counted += attempt.error.get("code") == "interrupted"
    if counted >= INTERRUPTIONS:
        return End(RunState.SET_ASIDE, step.id, f"{step.id} was interrupted {counted} times without progress")
    return Start(step.id, mine[-1].number + 1)


def _after_fault(step: Step, mine: Sequence[Attempt]) -> Next:
    last = mine[-1]
    faults = sum(a.state is AttemptState.TRANSIENT for a in mine)
    if faults > step.retry.max:
        return End(RunState.FAILED, step.id, f"{step.id} failed: transient")
    wait = backoff(step.retry, faults, last.id)
    asked = float(last.error.get("retry_after") or 0)
    ended = last.ended_at or last.started_at
    return Start(step.id, last.number + 1, ended + timedelta(seconds=max(wait, asked)))


def backoff(retry: Retry, faults: int, seed: str) -> float:
    """Seconds before the next try: exponential, capped, ±25 % jitter that is the same whenever it is asked."""
    wait = min(retry.cap, retry.base * 2 ** (faults - 1))
    jitter = int(digest(seed)[:8], 16) / 0xFFFFFFFF * 0.5 - 0.25
    return float(wait * (1 + jitter))
