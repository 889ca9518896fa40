"""The run's declared inputs, bound once from a request's words; all that is wrong is told together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from bot.publish import inline_code
from bot.workflows import InputViolation, Workflow, bind
from bot.workflows.request import request_budget
from bot.workflows.workflow import REQUEST_WORDS

#: a shorter key is close to too much
_TYPED_MIN = 3


def meant_param(key: str, declared: Collection[str]) -> str | None:
    """The declared name that a mistyped key is close to; None where it is none, or is one itself."""
    if key in declared or len(key) < _TYPED_MIN:
        return None
    return next(iter(get_close_matches(key, declared, n=1, cutoff=0.75)), None)


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
        # other keys come from those who start runs in other ways; what people mistyped is told
        unknown = [
            InputViolation(key, "unknown_input", f"there is no param `{key}`; did you mean `{meant}`?")
            for key in params
            if (meant := meant_param(key, workflow.params))
        ]
        return Signed({**params, **cap}, {}, (*unknown, *wrong))
    bound = bind(
        workflow.inputs, {key: value for key, value in words.items() if key not in workflow.params}, by_comment=True
    )
    return Signed({**params, **cap}, bound.values, (*bound.violations, *wrong))


def words(workflow: Workflow) -> tuple[str, ...]:
    """The `key=value` words that a request can have, as people write them; what may be left out is in brackets."""
    found = [f"[{key}=…]" for key in workflow.params]
    for name, one in workflow.inputs.items():
        if one.type == "secret":  # no comment can give it
            continue
        values = "true|false" if one.type == "bool" else "|".join(map(_word, one.options)) or "…"
        needed = one.required and one.default is None
        found.append(f"{name}={values}" if needed else f"[{name}={values}]")
    return tuple(found)


def _word(value: str) -> str:
    return f'"{value}"' if " " in value else value


def usage(handle: str, name: str, workflow: Workflow) -> str:
    """How a workflow is asked for, on one line."""
    return " ".join([handle, name, *words(workflow)])


def told(name: str, violations: Sequence[InputViolation], usage: str = "") -> str:
    """Everything that is wrong with what was given, with the class of each, and how it is asked for."""
    lines = [f"- `{each.kind}`: {' '.join(each.message.split())}" for each in violations]
    write = ["", f"Write {inline_code(usage)}."] if usage else []
    return "\n".join([f"**Nothing was started: what `{name}` was given does not fit**", "", *lines, *write])
