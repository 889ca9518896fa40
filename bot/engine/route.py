"""Where a frame goes on after a step: a pure function of the step, how it ended, and the values it may look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.model.state import AttemptState
from bot.workflows import Step
from bot.workflows.base_step import WorkingStep
from bot.workflows.conditions import Condition
from bot.workflows.gate_steps import Back
from bot.workflows.paths import MISS, resolve
from bot.workflows.routing import END, Case, Loop, Rework, Verdict
from bot.workflows.step import AskStep, EndStep, SwitchStep
from bot.workflows.template import as_text

#: no step: the frame ends because the step failed
FAIL = ""
#: what a result that is missing or does not fit fails with
MISMATCHES = frozenset({"result_missing", "result_mismatch"})

#: `order`: file order or a plain route forward; `loop`: a route backward; `rework`: because a result did not fit;
#: `exhausted`: what follows a loop or rework that is used up; `fail`: nothing follows
Why = Literal["order", "loop", "rework", "exhausted", "fail"]

Scope = Callable[[], Mapping[str, Any]]


class RouteFault(Exception):
    """A `decide` that leads nowhere: the step fails, and the message names it."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


@dataclass(frozen=True, slots=True)
class Route:
    """One way on. `to` is a step's id, `end`, or nothing where the step's failure ends the frame.

    `code` and `message` say why where the frame fails for a reason of the route itself. `reason` is what a rework is
    told. `notes` are for the record: values that a condition missed.
    """

    to: str
    why: Why = "order"
    code: str = ""
    message: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()

    def to_row(self) -> dict[str, Any]:
        """As it is kept with the attempt."""
        row: dict[str, Any] = {"to": self.to, "why": self.why}
        row |= {name: value for name in ("code", "message", "reason") if (value := getattr(self, name))}
        return {**row, "notes": list(self.notes)} if self.notes else row

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Route:
        """The inverse of `to_row`."""
        return cls(**{**row, "notes": tuple(row.get("notes", ()))})


@dataclass(slots=True)
class Taken:
    """How often ways back were taken in a frame, by the step that holds them."""

    loops: Counter[str] = field(default_factory=Counter)
    reworks: Counter[str] = field(default_factory=Counter)
    exhausted: Counter[str] = field(default_factory=Counter)

    def count(self, step: str, why: str) -> None:
        """Note a route that was taken."""
        counter = {"loop": self.loops, "rework": self.reworks, "exhausted": self.exhausted}.get(why)
        if counter is not None:
            counter[step] += 1


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended. `code` and `reason` are its failure's; `message` is what an `end` step says.

    `label` is the answer to a gate, and `reason` then what its author said.
    """

    state: AttemptState
    code: str = ""
    reason: str = ""
    message: str = ""
    label: str = ""


def admits(condition: Condition | None, scope: Scope) -> tuple[bool, tuple[str, ...]]:
    """Whether a step's `when` lets it start, and what is to be noted. Without one it does."""
    if condition is None:
        return True, ()
    notes: list[str] = []
    return _true(condition, scope(), notes), tuple(notes)


def route(steps: Sequence[Step], step: Step, ended: Ended, taken: Taken, scope: Scope) -> Route:
    """Where the frame goes on after `step`. `scope` is asked only where a condition or a path needs it.

    Raises `RouteFault` where a successful step's `decide` leads nowhere: it has failed then.
    """
    return _Crossing(steps, step, taken, scope).route(ended)


class _Crossing:
    """One step and the ways that lead on from it."""

    def __init__(self, steps: Sequence[Step], step: Step, taken: Taken, scope: Scope) -> None:
        self._step, self._taken, self._scope = step, taken, scope
        self._places = {each.id: index for index, each in enumerate(steps)}
        here = self._places[step.id] + 1
        self._following = steps[here].id if here < len(steps) else END
        self._notes: list[str] = []

    def route(self, ended: Ended) -> Route:
        match ended.state:
            case AttemptState.SUCCESS if isinstance(self._step, EndStep):
                if self._step.end.outcome == "success":
                    return Route(END)
                return Route(FAIL, "fail", "ended", ended.message or "the workflow ends here as failed")
            case AttemptState.SUCCESS if isinstance(self._step, AskStep) and ended.label in self._step.options:
                option = self._step.options[ended.label]
                return self._back(option.rework, ended) if isinstance(option, Back) else self._go(option)
            case AttemptState.SUCCESS:
                return self._go(self._onward())
            case AttemptState.SKIPPED:
                return self._go(self._default() or self._following)
            case _ if ended.code in MISMATCHES:
                return self._mismatch(ended)
            case _:
                to = self._first(case for case in self._listed() if case.when is not None)
                return self._fail() if to is None else self._go(to)

    def _onward(self) -> str:
        step = self._step
        if isinstance(step, WorkingStep) and step.decide is not None:
            return self._decided(step, step.decide)
        if isinstance(step, WorkingStep) and isinstance(step.next, str):
            return step.next
        cases = step.switch if isinstance(step, SwitchStep) else self._listed()
        return self._first(cases) or self._following

    def _decided(self, step: WorkingStep, decide: str | Verdict) -> str:
        path = decide if isinstance(decide, str) else decide.verdict
        scope = self._scope()
        value = resolve(scope, tuple(path.split(".")))
        name = step.id
        if value is MISS:
            hint = f"let `{name}` always give it (`required: true` in its `result`)"
            raise RouteFault("decide_missing", f"`decide` of `{name}`: `{path}` has no value", hint)
        if isinstance(decide, Verdict):
            to = self._first(decide.cases, {**scope, "value": value})
            if to is None:  # refused at load: it ends with its default
                hint = "end the cases with a default"
                raise RouteFault("no_transition", f"`decide` of `{name}`: no case holds", hint)
            return to
        text = as_text(value)
        if text not in step.transitions:
            known = ", ".join(f"`{each}`" for each in step.transitions)
            shown = text if len(text) <= 200 else f"{text[:200]}…"
            message = f"`decide` of `{name}`: `{path}` is `{shown}`, which has no transition"
            raise RouteFault("no_transition", message, f"there are transitions for {known}")
        return step.transitions[text]

    def _mismatch(self, ended: Ended) -> Route:
        step = self._step
        if not isinstance(step, WorkingStep) or step.result is None:
            return self._fail()
        on_mismatch = step.result.on_mismatch
        if on_mismatch == "fail":
            return self._fail()
        if on_mismatch != "retry":
            return self._go(on_mismatch)
        rework = step.rework
        assert rework is not None, "`retry` without `rework` is refused at load"
        if self._taken.reworks[step.id] < rework.max_loops:
            return Route(rework.targets[0], "rework", reason=ended.reason)
        return self._exhausted(rework.on_exhaust, "", "")

    def _back(self, to: str, ended: Ended) -> Route:
        """A person sends the work back; as often as the step's `rework` allows, or its defaults."""
        step = self._step
        rework = (step.rework if isinstance(step, WorkingStep) else None) or Rework(to=to)
        used = self._taken.reworks[step.id]
        if used < rework.max_loops:
            return Route(to, "rework", reason=ended.reason)
        message = f"`{step.id}` sent the work back {used} time{'' if used == 1 else 's'} (`rework.max_loops`)"
        return self._exhausted(rework.on_exhaust, "rework_exhausted", f"{message} and would again")

    def _go(self, to: str) -> Route:
        """To a step; backward only as often as the loop allows."""
        if not self._backward(to):
            return Route(to, notes=tuple(self._notes))
        loop = Loop() if isinstance(self._step, EndStep) else self._step.loop
        used = self._taken.loops[self._step.id]
        if used < loop.max:
            return Route(to, "loop", notes=tuple(self._notes))
        message = f"`{self._step.id}` went back {used} time{'' if used == 1 else 's'} (`loop.max`) and would again"
        return self._exhausted(loop.on_exhaust, "loop_exhausted", message)

    def _exhausted(self, way: str, code: str, message: str) -> Route:
        failed = Route(FAIL, "fail", code, message, notes=tuple(self._notes))
        if way == "fail":
            return failed
        if way == "last":
            default = self._default()
            to = self._following if default is None or self._backward(default) else default
        elif self._backward(way) and self._taken.exhausted[self._step.id]:
            return failed  # once: a way out that leads back is no loop of its own
        else:
            to = way
        return Route(to, "exhausted", notes=tuple(self._notes))

    def _fail(self) -> Route:
        return Route(FAIL, "fail", notes=tuple(self._notes))

    def _backward(self, to: str) -> bool:
        return to != END and self._places[to] <= self._places[self._step.id]

    def _listed(self) -> tuple[Case, ...]:
        step = self._step
        return step.next if isinstance(step, WorkingStep) and isinstance(step.next, tuple) else ()

    def _default(self) -> str | None:
        """Where the step leads if no condition is asked."""
        step = self._step
        if isinstance(step, EndStep):
            return None
        if isinstance(step, WorkingStep) and isinstance(step.next, str):
            return step.next
        return next((case.to for case in step.cases if case.when is None), None)

    def _first(self, cases: Iterable[Case], scope: Mapping[str, Any] | None = None) -> str | None:
        """Where the first case leads whose condition holds; None if none does."""
        for case in cases:
            if case.when is None or _true(case.condition, scope or self._scope(), self._notes):
                return case.to
        return None


def _true(condition: Condition | None, scope: Mapping[str, Any], notes: list[str]) -> bool:
    if condition is None:
        raise RuntimeError("the condition was not bound to its file")
    truth = condition.evaluate(scope)
    if truth.missing:
        notes.append(f"`{condition.text}` is false: {', '.join(f'`{each}`' for each in truth.missing)} has no value")
    elif truth.fault:
        notes.append(f"`{condition.text}` is false: {truth.fault}")
    return bool(truth)
