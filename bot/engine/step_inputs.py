"""The inputs of a step as declared → what `gather` computes, for one attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.context import ExecInput, ReadInput
from bot.context.reads import Kind
from bot.errors import UserError
from bot.workflows import step_inputs as declared
from bot.workflows.step_inputs import InputNode, StepInput

Environment = Callable[[Mapping[str, str | None]], dict[str, str]]


def wanted_inputs(
    inputs: Mapping[str, StepInput], scope: Mapping[str, Any], resolve: Environment
) -> list[ExecInput | ReadInput]:
    """Each input in the declared order, its templates filled from `scope`; `resolve` gives a command's variables.

    Raises `UserError` for a command whose values cannot stand in it. A template without a value is the input's own
    fault, told when it is its turn.
    """
    return [_wanted(name, each, scope, resolve) for name, each in inputs.items()]


def _wanted(name: str, each: StepInput, scope: Mapping[str, Any], resolve: Environment) -> ExecInput | ReadInput:
    match each:
        case declared.ExecInput():
            return ExecInput(
                name=name,
                argv=each.argv(scope).argv,
                where=str(each.mark),
                command=each.command_text,
                timeout=each.timeout,
                required=each.required,
                max_bytes=each.max_bytes,
                env=resolve(each.environment(scope)),
            )
        case declared.ValueInput():
            try:
                return _read(name, each, "value", value=each.filled(scope).value, type=each.type)
            except UserError as error:
                return _read(name, each, "value", missing=error)
        case declared.FileInput():
            return _read(name, each, "file", path=each.file)
        case declared.DiffInput():
            return _read(name, each, "diff")
        case declared.ChecksInput():
            return _read(name, each, "checks")
        case declared.ReviewThreadsInput():
            return _read(name, each, "review_threads")
        case declared.LinkedInput():
            return _read(name, each, "linked")
        case declared.ThreadInput():
            return _read(name, each, "thread", comments=each.thread.comments)


def _read(name: str, each: InputNode, kind: Kind, **own: Any) -> ReadInput:
    return ReadInput(name, kind, str(each.mark), each.required, each.max_bytes, **own)
