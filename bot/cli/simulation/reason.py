"""Why a step was followed by another, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.engine.route import FAIL, Route
from bot.model.state import AttemptState
from bot.store.tables import Attempt
from bot.workflows.base_step import WorkingStep
from bot.workflows.gate_steps import AskStep
from bot.workflows.paths import MISS, resolve
from bot.workflows.routing import Case, Verdict
from bot.workflows.step import EndStep, Step, SwitchStep
from bot.workflows.template import as_text


def why(step: Step, attempt: Attempt, scope: Mapping[str, Any]) -> str:
    """The reason for the route of an ended attempt; `scope` is what its conditions looked at."""
    route = Route.of(attempt.route)
    if attempt.state is AttemptState.SKIPPED:
        return "skipped: its `when` is false"
    if route.why == "rework":
        return f"{_label(step, attempt) or 'the result does not fit'}: back to do it again"
    if route.to == FAIL:
        return f"{route.code}: {route.message}" if route.code else "it failed, and no route takes that"
    if route.why == "exhausted":
        return "its way back is used up (`on_exhaust`)"
    reason = _label(step, attempt) or _decided(step, scope) or _first(step, route.to, scope)
    return f"{reason} (back, see `loop`)" if route.why == "loop" else reason


def _label(step: Step, attempt: Attempt) -> str:
    if not isinstance(step, AskStep) or not isinstance(attempt.result, dict):
        return ""
    label = attempt.result.get("answer")
    return f"answer `{label}`" if label in step.options else ""


def _decided(step: Step, scope: Mapping[str, Any]) -> str:
    if not isinstance(step, WorkingStep) or step.decide is None or scope.get("outcome") == "fail":
        return ""
    path = step.decide.verdict if isinstance(step.decide, Verdict) else step.decide
    value = resolve(scope, tuple(path.split(".")))
    shown = "nothing" if value is MISS else as_text(value)
    told = f"`decide`: `{path}` is `{shown}`"
    if isinstance(step.decide, Verdict):
        told += f", {_case(step.decide.cases, {**scope, 'value': value})}"
    return told


def _first(step: Step, to: str, scope: Mapping[str, Any]) -> str:
    match step:
        case EndStep():
            return "`end`"
        case SwitchStep():
            return _case(step.switch, scope)
        case WorkingStep() if isinstance(step.next, str):
            return "`next`"
        case WorkingStep() if isinstance(step.next, tuple):
            matching = [case for case in step.next if case.to == to]
            return _case(step.next, scope) if matching else "the next in the file"
        case _:
            return "the last in its row" if to == "end" else "the next in the file"


def _case(cases: tuple[Case, ...], scope: Mapping[str, Any]) -> str:
    """The first case that holds."""
    for case in cases:
        if case.condition is not None and case.condition.evaluate(scope):
            return f"`{case.condition.text}` is true"
        if case.when is None:
            return "no condition before the default is true" if len(cases) > 1 else "the default"
    return "no condition is true"
