"""The run's declared inputs, bound once from a request's words; all that is wrong is told together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.workflows import InputViolation, Workflow, bind
from bot.workflows.request import request_budget
from bot.workflows.workflow import REQUEST_WORDS


@dataclass(frozen=True, slots=True)
class Signed:
    """What a request's `key=value` words are to a workflow: its params, its inputs as typed, and what is wrong.

    The words of the request's own budget stand among the params, whose names they cannot be.
    """

    params: Mapping[str, str]
    inputs: Mapping[str, str | int | float | bool]
    violations: tuple[InputViolation, ...] = ()


def sign(workflow: Workflow, words: Mapping[str, str]) -> Signed:
    """Tell params and inputs apart and hold the inputs against the workflow's signature. Without one there are none."""
    cap = {key: value for key, value in words.items() if key in REQUEST_WORDS}
    _, wrong = request_budget(cap)
    words = {key: value for key, value in words.items() if key not in cap}
    params = {key: value for key, value in words.items() if key in workflow.params or not workflow.inputs}
    if not workflow.inputs:
        return Signed({**params, **cap}, {}, wrong)
    bound = bind(
        workflow.inputs, {key: value for key, value in words.items() if key not in workflow.params}, by_comment=True
    )
    return Signed({**params, **cap}, bound.values, (*bound.violations, *wrong))


def told(name: str, violations: Sequence[InputViolation]) -> str:
    """Everything that is wrong with what was given, with the class of each."""
    lines = [f"- `{each.kind}`: {' '.join(each.message.split())}" for each in violations]
    return "\n".join([f"**Nothing was started: what `{name}` was given does not fit**", "", *lines])
