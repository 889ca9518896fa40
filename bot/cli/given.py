"""What a person gives a run on the command line: params and inputs, as `key=value`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.errors import UserError
from bot.workflows import InputViolation, Workflow, bind


def params(given: Sequence[str], workflow: Workflow) -> dict[str, str]:
    """The params. Raises `UserError` (`unknown_param`) for one that the workflow does not declare."""
    found: dict[str, str] = {}
    for each in given:
        key, sign, value = each.partition("=")
        if not sign or key not in workflow.params:
            known = ", ".join(workflow.params) or "none"
            raise UserError("unknown_param", f"`{each}` names no param of this workflow", f"declared: {known}")
        found[key] = value
    return found


def words(given: Sequence[str]) -> dict[str, str]:
    """The inputs as they were written. Raises `UserError` (`unknown_input`) for what is no `key=value`."""
    found: dict[str, str] = {}
    for each in given:
        key, sign, value = each.partition("=")
        if not sign:
            raise UserError("unknown_input", f"`{each}` is no `key=value`", "write `--input key=value`")
        found[key] = value
    return found


def inputs(given: Mapping[str, object], workflow: Workflow) -> Mapping[str, object]:
    """The inputs as the workflow declares them. Raises `UserError` with everything that does not fit."""
    bound = bind(workflow.inputs, given)
    if bound.violations:
        raise refused(bound.violations, workflow)
    return bound.values


def refused(violations: Sequence[InputViolation], workflow: Workflow) -> UserError:
    """Everything that does not fit, as one error."""
    told = "; ".join(f"{each.kind}: {each.message}" for each in violations)
    return UserError(violations[0].kind, told, f"declared: {', '.join(workflow.inputs) or 'none'}")
