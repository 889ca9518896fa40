"""What of a run may start now: a pure function of its rows and its workflow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bot.engine.route import FAIL, Ended, Route, RouteFault, Scope, Taken, admits, route
from bot.model.ident import digest
from bot.model.outcome import Faulted
from bot.model.patience import PATIENCE, named
from bot.model.state import AttemptState, RunState
from bot.store.tables import Attempt
from bot.workflows import Retry, Step
from bot.workflows.base_step import WorkingStep
from bot.workflows.routing import END

#: interruptions of one step, without a success of the run in between, after which the run is set aside
INTERRUPTIONS = 3

#: states after which a step is not tried again by itself
_SETTLED = frozenset({AttemptState.SUCCESS, AttemptState.SKIPPED, AttemptState.FAIL})


@dataclass(frozen=True, slots=True)
class Start:
    """This attempt may start, at `not_before` where a retry has to wait.

    `iteration` counts how often the walk came to the step before. `skip`: its `when` does not let it start, so that
    the attempt is recorded as skipped; `notes` say what the condition missed.
    """

    step: str
    number: int
    not_before: datetime | None = None
    iteration: int = 0
    skip: bool = False
    #: the attempt before was interrupted, and the step says that it must not be repeated
    refused: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """The run is over. `step` is the one that decided it, None where all of them ran; `hint` says what can be done."""

    state: RunState
    step: str | None = None
    reason: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Busy:
    """An attempt is under way; nothing to start."""


Next = Start | End | Busy


@dataclass(slots=True)
class Walk:
    """What the rows of a frame tell: attempts and visits of each step, ways back taken, and the visit under way.

    A visit is one coming to a step, with all of its retries.
    """

    attempts: Counter[str] = field(default_factory=Counter)
    visits: Counter[str] = field(default_factory=Counter)
    taken: Taken = field(default_factory=Taken)
    visit: list[Attempt] = field(default_factory=list)
    #: interruptions of each step that count, since the run's last success
    interrupted: Counter[str] = field(default_factory=Counter)
    progress: str = ""

    @classmethod
    def of(cls, attempts: Sequence[Attempt], progress: str = "") -> Walk:
        """Read the attempts of one frame, in the order they were made. The newest one's route is not counted."""
        walk = cls(progress=progress)
        last = len(attempts) - 1
        for index, attempt in enumerate(attempts):
            walk._add(attempt, newest=index == last)
        return walk

    def _add(self, attempt: Attempt, *, newest: bool) -> None:
        step, state = attempt.step, attempt.state
        self.attempts[step] += 1
        self.visit.append(attempt)
        if state is AttemptState.SUCCESS:
            self.interrupted.clear()
        elif state is AttemptState.INTERRUPTED and attempt.error.get("code") == "interrupted":
            # a graceful stop is nobody's fault, and of several that died together nobody knows whose it was
            self.interrupted[step] += attempt.id > self.progress
        if state in _SETTLED and not newest:
            self.visits[step] += 1
            self.visit.clear()
            self.taken.count(step, attempt.route.get("why", ""))


def ready(steps: Sequence[Step], attempts: Sequence[Attempt], scope: Scope = dict, progress: str = "") -> Next:
    """What follows in a frame of `steps`. `attempts` are its own, in the order they were made.

    `scope` gives the values that conditions look at; it is asked only where one is. The same rows always give the same
    answer, so going on after any crash continues where the rows stop: a route that was taken is kept with its attempt,
    and only the newest attempt's may still have to be found. `progress` is the id of the run's newest success, in
    whatever frame: interruptions before it do not count.
    """
    if not attempts:
        return _start(steps, steps[0].id, Walk(), scope)
    walk = Walk.of(attempts, progress)
    last = attempts[-1]
    step = next(each for each in steps if each.id == last.step)
    match last.state:
        case AttemptState.RUNNING | AttemptState.WAITING:
            return Busy()
        case AttemptState.INTERRUPTED:
            return _after_interruption(step, walk, last)
        case AttemptState.TRANSIENT:
            return _after_fault(step, walk, last)
        case AttemptState.CANCELLED:
            return End(RunState.CANCELLED, step.id)
    taken = route_of(steps, step, walk, last, scope)
    if taken.to == FAIL:
        return _failed(last, taken)
    if taken.to == END:
        return End(RunState.SUCCEEDED)
    walk.visits[step.id] += 1
    return _start(steps, taken.to, walk, scope)


def route_of(steps: Sequence[Step], step: Step, walk: Walk, last: Attempt, scope: Scope) -> Route:
    """The route after the newest attempt: as it was recorded, else as it is found now."""
    if last.route:
        return Route.of(last.route)
    ended = Ended(last.state, last.error.get("code", ""), reason(last.error), last.output or "")
    try:
        return route(steps, step, ended, walk.taken, scope)
    except RouteFault as fault:
        return Route(FAIL, "fail", fault.code, fault.message)


def reason(error: Mapping[str, Any]) -> str:
    """A failure in words, for those who shall do better: code, message, hint."""
    if not error:
        return ""
    told = f"{error.get('code', '')}: {error.get('message', '')}"
    return f"{told}\n{error['hint']}" if error.get("hint") else told


def _start(steps: Sequence[Step], to: str, walk: Walk, scope: Scope) -> Start:
    step = next(each for each in steps if each.id == to)
    admitted, notes = admits(step.condition, scope)
    return Start(to, walk.attempts[to] + 1, iteration=walk.visits[to], skip=not admitted, notes=notes)


def _again(walk: Walk, last: Attempt, not_before: datetime | None = None) -> Start:
    """Another attempt of the same visit."""
    return Start(last.step, walk.attempts[last.step] + 1, not_before, walk.visits[last.step])


#: seconds before the first and every further try while GitHub does not answer
_OUTAGE_FIRST, _OUTAGE_LONGEST = 5.0, 60.0
#: no try is put off for more seconds, whatever the workflow or the other side says: a time beyond `store.due.LONGEST`
#: is taken for that of a clock that was set back since
_RETRY_LONGEST = 86_400.0

#: failures of a step that are really the end of the run's allowance
_ENDS = {"run_timed_out": RunState.TIMED_OUT}


def _failed(last: Attempt, taken: Route) -> End:
    code = last.error.get("code", "")
    if code in _ENDS:
        return End(_ENDS[code], last.step, last.error.get("message", ""))
    if taken.code:
        return End(RunState.FAILED, last.step, f"{taken.code}: {taken.message}")
    return End(RunState.FAILED, last.step, f"{last.step} failed: {code}")


def _after_interruption(step: Step, walk: Walk, last: Attempt) -> Next:
    counted = walk.interrupted[last.step]
    if counted >= INTERRUPTIONS:
        return End(RunState.SET_ASIDE, last.step, f"{last.step} was interrupted {counted} times without progress")
    if isinstance(step, WorkingStep) and step.on_interrupt == "fail" and last.error.get("code") != "stopped":
        return replace(_again(walk, last), refused=True)
    return _again(walk, last)


def _after_fault(step: Step, walk: Walk, last: Attempt) -> Next:
    asked = _asked(last)
    ended = last.ended_at or last.started_at
    if _is_outage(last):
        wait = min(_OUTAGE_FIRST * 2.0 ** (len(_outage(walk)) - 1), _OUTAGE_LONGEST)
        return _again(walk, last, ended + timedelta(seconds=max(wait, asked)))
    faults = _faults(walk)
    if faults > step.retry.max:
        return End(RunState.FAILED, step.id, f"{step.id} failed: transient")
    wait = backoff(step.retry, faults, last.id)
    return _again(walk, last, ended + timedelta(seconds=max(wait, asked)))


def used_up(step: Step, walk: Walk, fault: Faulted, now: datetime) -> bool:
    """Whether one more transient fault of the visit under way is one too many.

    An outage is waited for as long as a run waits for GitHub before it starts, and takes none of the step's tries.
    """
    if not fault.outage:
        return _faults(walk) >= step.retry.max
    before = _outage(walk, met_again=True)
    if not before:
        return False
    told = sum((named(_asked(one)) for one in before), timedelta())
    return now - (before[0].ended_at or before[0].started_at) >= PATIENCE + told


def _faults(walk: Walk) -> int:
    """Faults of the visit that count as tries."""
    return sum(one.state is AttemptState.TRANSIENT and not _is_outage(one) for one in walk.visit)


def _outage(walk: Walk, *, met_again: bool = False) -> list[Attempt]:
    """The attempts of the visit that met the outage under way, oldest first; `met_again`: without the newest, which
    is not recorded yet.
    """
    found: list[Attempt] = []
    for one in reversed(walk.visit[:-1] if met_again else walk.visit):
        if one.state is AttemptState.INTERRUPTED:
            continue
        if not _is_outage(one):
            break
        found.insert(0, one)
    return found


def _asked(attempt: Attempt) -> float:
    """The seconds that whoever had the fault asked for, a day at most."""
    return min(float(attempt.error.get("retry_after") or 0), _RETRY_LONGEST)


def _is_outage(attempt: Attempt) -> bool:
    return attempt.state is AttemptState.TRANSIENT and "outage" in attempt.error


def backoff(retry: Retry, faults: int, seed: str) -> float:
    """Seconds before the next try, a day at most: exponential, capped, ±25 % jitter, the same whenever it is asked."""
    wait = min(retry.cap, retry.base * 2 ** (faults - 1))
    jitter = int(digest(seed)[:8], 16) / 0xFFFFFFFF * 0.5 - 0.25
    return min(float(wait * (1 + jitter)), _RETRY_LONGEST)
