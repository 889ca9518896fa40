"""What the inputs of a command or of a body of code give: computed immediately before it, and recorded."""

from __future__ import annotations

from typing import Any

from bot.engine.around import Place, Surroundings
from bot.engine.assembly import gathered, window_policy
from bot.engine.terms import Begun, Terms
from bot.model.context import Context, Manifest
from bot.workflows.step import CodeStep, RunStep
from bot.workflows.step_inputs import ValueInput
from bot.workflows.template import as_text


async def given(
    around: Surroundings, terms: Terms, begun: Begun, step: RunStep | CodeStep, place: Place
) -> dict[str, Any]:
    """Each input by name: a value with its type, everything else as text; None where an optional one cannot be had.

    Raises `UserError` (`input_failed`) at the first required one that fails: nothing of the step has run then.
    """
    if not step.inputs:
        return {}
    policy = window_policy(begun.rows, terms.configuration, begun.level.workflow, step)
    results = await gathered(
        around.bench,
        begun.rows,
        step.inputs,
        around.sources(policy),
        workspace=place.workspace,
        env=place.env,
        scope=place.scope,
        resolve=around.environment,
        readable=place.readable,
    )
    await around.attach(begun, Context("", "", (), Manifest(inputs=tuple(one.record for one in results))))
    values: dict[str, Any] = {}
    for (name, declared), result in zip(step.inputs.items(), results, strict=True):
        if result.record.status != "ok":
            values[name] = None
        elif isinstance(declared, ValueInput):
            # whole: what is cut is what a prompt shows
            values[name] = declared.filled(place.scope).value
        else:
            values[name] = result.text
    return values


def variables(values: dict[str, Any]) -> dict[str, str]:
    """The same as variables of a command: what is no text as compact JSON; what cannot be had is not there."""
    return {name: as_text(value) for name, value in values.items() if value is not None}
