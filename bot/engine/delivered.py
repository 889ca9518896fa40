"""What the run itself hands to an agent's prompt: its context by fidelity, back references, the reason for a rework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.context import Ambient, Finished, reference, rework_reason
from bot.engine.frames import Level
from bot.engine.graph import Walk
from bot.engine.scope import OUTCOMES, context_of
from bot.engine.terms import Begun
from bot.engine.values import RunContext
from bot.errors import UserError
from bot.model.context import Block
from bot.model.state import AttemptState
from bot.store.tables import Attempt
from bot.workflows import MISS, ContextReference, lower, resolve
from bot.workflows.base_step import WorkingStep
from bot.workflows.step import AskingStep
from bot.workflows.template import as_text

#: the bytes of a digest
ReadBlob = Callable[[str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Delivered:
    """Rows 4, 5 and 9 of a prompt."""

    ambient: Ambient
    references: tuple[Block, ...] = ()
    rework: Block | None = None


async def delivered(begun: Begun, step: AskingStep, read_blob: ReadBlob) -> Delivered:
    """What an attempt under way is handed. Raises `UserError` where a reference has no value."""
    context = context_of(begun.rows, begun.tree, begun.level)
    return Delivered(
        _ambient(begun.level, step, context),
        tuple([await _reference(begun.level, step, each, context, read_blob) for each in step.references]),
        _rework(begun.level),
    )


def _ambient(frame: Level, step: AskingStep, context: RunContext) -> Ambient:
    level = step.fidelity
    interrupted = sum(each.state is AttemptState.INTERRUPTED for each in Walk.of(frame.attempts).visit)
    for _ in range(interrupted):
        level = lower(level)
    return Ambient(
        values=context.newest,
        finished=_finished(frame),
        level=level,
        reason=f"after an interruption, instead of {step.fidelity}" if interrupted else "",
        reads=step.reads,
        cap=step.injection_cap,
    )


def _finished(level: Level) -> list[Finished]:
    """Every step that ended in this frame and in those it is in, in the order of the file, outermost first."""
    found: list[Finished] = []
    for frame in reversed([*level.lineage(within_workflow=True)]):
        newest = {attempt.step: attempt for attempt in frame.attempts if attempt.state in OUTCOMES}
        answers = {attempt.step: attempt.output for attempt in frame.attempts if attempt.output is not None}
        found.extend(
            Finished(step.id, OUTCOMES[newest[step.id].state], answers.get(step.id))
            for step in frame.steps
            if step.id in newest
        )
    return found


async def _reference(
    level: Level, step: AskingStep, wanted: ContextReference, context: RunContext, read_blob: ReadBlob
) -> Block:
    text: str | None = None
    match wanted.what:
        case "ctx":
            text = context.newest.get(wanted.key)
        case "output":
            found = _newest(level, wanted.step, lambda each: each.output is not None or _keyed(level, each))
            # of a fanned-out step the whole keyed object
            fanned = found is not None and _keyed(level, found)
            text = as_text(found.result) if found is not None and fanned else await _output(found, read_blob)
        case "result":
            found = _newest(level, wanted.step, lambda each: each.result is not None)
            value = MISS if found is None else resolve(found.result, wanted.path)
            text = None if value is MISS else as_text(value)
    if text is None:
        hint = f"Let a step that always runs before `{step.id}` make it, or take it out of `context`."
        raise UserError("context_missing", f"`{wanted.text}` in the `context` of `{step.id}` has no value", hint)
    return reference(wanted.text, text)


def _newest(level: Level, step: str, has: Callable[[Attempt], bool]) -> Attempt | None:
    """The newest ended attempt of a step that made what is wanted: a later one that was skipped made nothing."""
    for frame in level.lineage(within_workflow=True):
        ended = (each for each in reversed(frame.attempts) if each.step == step and each.state in OUTCOMES)
        if (found := next((each for each in ended if has(each)), None)) is not None:
            return found
    return None


def _keyed(level: Level, attempt: Attempt) -> bool:
    """Whether an attempt's result is an object by element."""
    for frame in level.lineage(within_workflow=True):
        if attempt.frame_id == frame.frame.id and not frame.is_element:
            step = frame.step(attempt.step)
            return isinstance(step, WorkingStep) and step.each is not None and attempt.result is not None
    return False


async def _output(attempt: Attempt | None, read_blob: ReadBlob) -> str | None:
    """The whole output, not the part that the row holds."""
    if attempt is None:
        return None
    blob = attempt.streams.get("output")
    return (await read_blob(blob)).decode("utf-8", "replace") if blob else attempt.output


def _rework(level: Level) -> Block | None:
    """Why the work is done again, for the first agent that answers after it was sent back."""
    for attempt in reversed(level.attempts):
        if attempt.route.get("why") == "rework":
            said = "answer to" if attempt.kind == "ask" else "result of"
            return rework_reason(f"{said} {attempt.step}", attempt.route.get("reason", ""))
        if attempt.kind in ("agent", "classify") and attempt.state in (AttemptState.SUCCESS, AttemptState.FAIL):
            return None
    return None
