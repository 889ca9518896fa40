"""What the run itself hands to an agent's prompt: its context by fidelity, back references, the reason for a rework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.context import Ambient, Finished, reference, rework_reason
from bot.engine.graph import Walk
from bot.engine.ledger import own
from bot.engine.scope import OUTCOMES
from bot.engine.values import RunContext
from bot.errors import UserError
from bot.model.context import Block
from bot.model.state import AttemptState
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import MISS, AgentStep, ContextReference, Workflow, lower, resolve
from bot.workflows.template import as_text

#: the bytes of a digest
ReadBlob = Callable[[str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Delivered:
    """Rows 4, 5 and 9 of a prompt."""

    ambient: Ambient
    references: tuple[Block, ...] = ()
    rework: Block | None = None


async def delivered(rows: RunRows, workflow: Workflow, step: AgentStep, read_blob: ReadBlob) -> Delivered:
    """What the newest attempt of `rows`, under way, is handed. Raises `UserError` where a reference has no value."""
    context = RunContext.of(rows.values, workflow.goal)
    return Delivered(
        _ambient(rows, workflow, step, context),
        tuple([await _reference(rows, step, each, context, read_blob) for each in step.references]),
        _rework(rows),
    )


def _ambient(rows: RunRows, workflow: Workflow, step: AgentStep, context: RunContext) -> Ambient:
    level = step.fidelity
    interrupted = sum(each.state is AttemptState.INTERRUPTED for each in Walk.of(own(rows)).visit)
    for _ in range(interrupted):
        level = lower(level)
    return Ambient(
        values=context.newest,
        finished=_finished(rows, workflow),
        level=level,
        reason=f"after an interruption, instead of {step.fidelity}" if interrupted else "",
        reads=step.reads,
        cap=step.injection_cap,
    )


def _finished(rows: RunRows, workflow: Workflow) -> list[Finished]:
    """Every step that ended, in the order of the file."""
    newest = {attempt.step: attempt for attempt in own(rows) if attempt.state in OUTCOMES}
    answers = {attempt.step: attempt.output for attempt in own(rows) if attempt.output is not None}
    return [
        Finished(step.id, OUTCOMES[newest[step.id].state], answers.get(step.id))
        for step in workflow.steps
        if step.id in newest
    ]


async def _reference(
    rows: RunRows, step: AgentStep, wanted: ContextReference, context: RunContext, read_blob: ReadBlob
) -> Block:
    text: str | None = None
    match wanted.what:
        case "ctx":
            text = context.newest.get(wanted.key)
        case "output":
            text = await _output(_newest(rows, wanted.step, lambda each: each.output is not None), read_blob)
        case "result":
            found = _newest(rows, wanted.step, lambda each: each.result is not None)
            value = MISS if found is None else resolve(found.result, wanted.path)
            text = None if value is MISS else as_text(value)
    if text is None:
        hint = f"Let a step that always runs before `{step.id}` make it, or take it out of `context`."
        raise UserError("context_missing", f"`{wanted.text}` in the `context` of `{step.id}` has no value", hint)
    return reference(wanted.text, text)


def _newest(rows: RunRows, step: str, has: Callable[[Attempt], bool]) -> Attempt | None:
    """The newest ended attempt of a step that made what is wanted: a later one that was skipped made nothing."""
    ended = (each for each in reversed(own(rows)) if each.step == step and each.state in OUTCOMES)
    return next((each for each in ended if has(each)), None)


async def _output(attempt: Attempt | None, read_blob: ReadBlob) -> str | None:
    """The whole output, not the part that the row holds."""
    if attempt is None:
        return None
    blob = attempt.streams.get("output")
    return (await read_blob(blob)).decode("utf-8", "replace") if blob else attempt.output


def _rework(rows: RunRows) -> Block | None:
    """Why the work is done again, for the first agent that answers after it was sent back."""
    for attempt in reversed(own(rows)):
        if attempt.route.get("why") == "rework":
            return rework_reason(f"result of {attempt.step}", attempt.route.get("reason", ""))
        if attempt.kind == "agent" and attempt.state in (AttemptState.SUCCESS, AttemptState.FAIL):
            return None
    return None
