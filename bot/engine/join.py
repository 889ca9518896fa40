"""What the frames of an attempt come to together: of branches, of elements, of a group, of another workflow. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.engine.evidence import exported
from bot.engine.frames import Level, returned
from bot.engine.graph import End
from bot.engine.survey import Join
from bot.engine.values import RunContext
from bot.model.ident import compact
from bot.model.outcome import Done, Failed
from bot.model.state import RunState
from bot.publish import fence
from bot.store.run_context import Written
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows.results import BYTES_MAX
from bot.workflows.step import GroupStep, ParallelStep, UsesStep

#: names of failed frames that a message lists
_NAMED = 5


def joined(join: Join, rows: RunRows, most: int = BYTES_MAX) -> Done | Failed:
    """The outcome of an attempt whose frames are over; `most` bounds what a workflow that is used gives, in bytes."""
    step = join.level.step(join.attempt.step)
    if join.ends[0][0].is_element:
        return _elements(join)
    match step:
        case ParallelStep():
            return _branches(step, join, rows)
        case UsesStep():
            return _used(step, *join.ends[0], rows, most)
        case GroupStep():
            return _group(*join.ends[0])
    raise TypeError(f"a step of kind {step.kind} has no frames")


def _group(level: Level, end: End) -> Done | Failed:
    if end.state is not RunState.SUCCEEDED:
        return _inner(level, end)
    return so_far(level)


def so_far(level: Level) -> Done:
    """What a row came to with the last of its steps that went well; nothing where all were skipped or failed."""
    last = level.succeeded()
    return Done() if last is None else Done(output=last.output, result=last.result)


def _used(step: UsesStep, level: Level, end: End, rows: RunRows, most: int) -> Done | Failed:
    if end.state is not RunState.SUCCEEDED:
        return _inner(level, end)
    found = exported(rows, level, most)
    if found.code:
        return Failed(found.code, f"`{step.uses}`: {found.message}", found.hint)
    value = found.value
    shown = value if isinstance(value, str) else fence(compact(value), "json") if value is not None else None
    return Done(output=shown, result=value)


def _inner(level: Level, end: End) -> Failed:
    """The failure of the one frame of a step, told as the step's."""
    failed = next((one for one in reversed(level.attempts) if one.step == end.step and one.error), None)
    if failed is None or failed.route.get("code"):
        code, _, message = end.reason.partition(": ")
        return Failed(code if message else "failed", f"`{end.step}`: {message or end.reason}")
    error = failed.error
    return Failed(
        error.get("code", "failed"),
        f"`{end.step}`: {error.get('message', '')}",
        error.get("hint", ""),
        stderr=error.get("detail", ""),
    )


def _branches(step: ParallelStep, join: Join, rows: RunRows) -> Done | Failed:
    """A key a branch, and `parallel.results` in the run context; both in declared order."""
    values: dict[str, Any] = {}
    entries: list[dict[str, Any]] = []
    for level, end in join.ends:
        name = level.frame.key or ""
        own = [value for value in rows.values if value.frame_id in _space(level)]
        written = RunContext.of(own, "").newest
        values[name] = _value(level, end, _authors(level, own))
        entries.append(
            {
                "branch": name,
                "step": level.attempts[-1].step,
                # an `end` that fails, or a loop that is used up, follows a step that went well
                "status": written.get("outcome", "success") if end.state is RunState.SUCCEEDED else "fail",
                "context_updates": written,
                "stats": _stats(level),
            }
        )
    told = {"parallel.results": compact(entries)}
    failed = [(level.frame.key or "", end) for level, end in join.ends if end.state is not RunState.SUCCEEDED]
    output = _sections(join)
    if failed and step.parallel.on_error == "fail":
        message = _listed("branch", "branches", failed)
        hint = "Mend it, or let the step go on with `on_error: collect`."
        return Failed("branch_failed", message, hint, output=output, writes=told, stderr=_detail(join))
    return Done(output=output, result=values, writes=told)


def _elements(join: Join) -> Done | Failed:
    """An object keyed by the elements' names, in the list's order."""
    step = join.level.step(join.attempt.step)
    each = getattr(step, "each", None)
    failed = [(level.frame.key or "", end) for level, end in join.ends if end.state is not RunState.SUCCEEDED]
    output = _sections(join)
    if failed and each is not None and each.on_error == "fail":
        message = _listed("element", "elements", failed)
        hint = "Mend it, or let the step go on with `on_error: collect`."
        return Failed("element_failed", message, hint, output=output, stderr=_detail(join))
    return Done(output=output, result={level.frame.key or "": _value(level, end, {}) for level, end in join.ends})


def _value(level: Level, end: End, written: Mapping[str, str]) -> Any:
    """What a frame returned; the keys that its authors' steps wrote stand beside the keys of its result."""
    if end.state is not RunState.SUCCEEDED:
        return {"error": end.reason}
    value = returned(level.succeeded())
    if not written:
        return value
    return {**written, **value} if isinstance(value, dict) else dict(written)


def _space(level: Level) -> set[str]:
    """The frames that write to the same run context as `level`."""
    return {level.frame.id, *(one.frame.id for one in level.below() if one.space is level)}


def _authors(level: Level, values: list[Written]) -> dict[str, str]:
    """What `writes` of the frame's own steps gave."""
    declared = {key for one in (level, *level.below()) for step in one.steps for key in getattr(step, "writes", ())}
    return {value.key: value.text for value in values if value.key in declared}


def _stats(level: Level) -> dict[str, Any]:
    attempts = [*level.attempts, *(attempt for one in level.below() for attempt in one.attempts)]
    ends = [attempt.ended_at for attempt in attempts if attempt.ended_at is not None]
    seconds = (max(ends) - min(attempt.started_at for attempt in attempts)).total_seconds() if ends else 0.0
    costs = [attempt.cost for attempt in attempts if attempt.cost is not None]
    return {
        "duration_s": round(seconds, 3),
        "tokens": sum(attempt.input_tokens + attempt.output_tokens for attempt in attempts),
        "cost": sum(costs) if costs else None,
    }


def _sections(join: Join) -> str | None:
    """The outputs one below the other, each under its name."""
    parts = []
    for level, end in join.ends:
        last = level.succeeded() if end.state is RunState.SUCCEEDED else None
        if last is None or not (last.output or "").strip():
            continue
        step = level.step(last.step)
        plain = getattr(step, "format", "markdown") == "text"
        parts.append(f"### {level.frame.key}\n\n{fence(last.output or '') if plain else last.output}")
    return "\n\n".join(parts) if parts else None


def _listed(one: str, many: str, failed: list[tuple[str, End]]) -> str:
    shown = "; ".join(f"`{name}` ({end.reason})" for name, end in failed[:_NAMED])
    more = f"; and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
    return f"{len(failed)} {one if len(failed) == 1 else many} failed: {shown}{more}"


def _detail(join: Join) -> str:
    """The last words of the first that failed."""
    for level, end in join.ends:
        if end.state is RunState.SUCCEEDED:
            continue
        failed: Attempt | None = next((one for one in reversed(level.attempts) if one.error), None)
        if failed is not None:
            return failed.error.get("detail", "") or failed.error.get("message", "")
    return ""
