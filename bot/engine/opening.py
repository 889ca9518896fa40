"""Opens the frames of an attempt: branches, a group, another workflow, one for every element of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from bot.engine.frames import Find, Level
from bot.engine.run_inputs import bound_inputs, check_handed, handed_on, keep, to_fetch
from bot.errors import UserError
from bot.model.ident import digest
from bot.model.outcome import Done, Failed
from bot.store import Session
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Frame
from bot.workflows import Step, Workflow, resolve
from bot.workflows.base_step import WorkingStep
from bot.workflows.each import ELEMENTS_MAX, Each
from bot.workflows.paths import MISS
from bot.workflows.step import GroupStep, ParallelStep, UsesStep
from bot.workflows.template import as_text
from bot.workflows.values import fill
from bot.workspace.staging import StagedFile

#: frames of one run; lists within lists would have no bound otherwise
FRAMES_MAX = 5_000

#: characters of an element's key in its frame's path
_PATH_KEY_MAX = 500


def opens(step: Step) -> bool:
    """Whether the work of a step is done in frames of its own."""
    return isinstance(step, (GroupStep, ParallelStep, UsesStep)) or (
        isinstance(step, WorkingStep) and step.each is not None
    )


def opened(
    session: Session,
    rows: RunRows,
    level: Level,
    step: WorkingStep,
    attempt: Attempt,
    scope: Mapping[str, Any],
    find: Find,
    now: datetime,
    files: Sequence[StagedFile] = (),
) -> Done | Failed | None:
    """Record the frames of an attempt. An outcome where there is none to open: nothing to do, or it cannot be done.

    `files` are those that were read for a workflow that is used.
    """
    try:
        frames = _frames(level, step, attempt, scope, find)
        if isinstance(step, UsesStep) and step.each is None:
            used = _used(step, find)
            handed = handed_on(level, used, frames[0].given["inputs"])
            check_handed(step, used, handed)
            keep(session, frames[0], files, now, handed)
    except UserError as error:
        return Failed(error.code, error.message, error.hint)
    if not frames:
        return Done(result={}, output=None)
    if len(rows.frames) + len(frames) > FRAMES_MAX:
        message = f"the run has {len(rows.frames):,} frames, and `{step.id}` would open {len(frames):,} more"
        return Failed("too_many_frames", message, f"A run has at most {FRAMES_MAX:,}: use shorter lists, or nest less.")
    for place, frame in enumerate(frames):
        frame.place = place
        rows.frames.append(frame)
        session.add(frame)
    session.flush()
    return None


def lacks_files(level: Level, step: Step, scope: Mapping[str, Any], find: Find) -> bool:
    """Whether files have to be read before the step can be opened. What is wrong with its inputs, `opened` tells."""
    if not isinstance(step, UsesStep) or step.each is not None:
        return False
    used = _used(step, find)
    try:
        return bool(to_fetch(level, used, bound_inputs(step, scope, used)))
    except UserError:
        return False


def repeated(session: Session, rows: RunRows, level: Level, attempt: Attempt, repetition: int) -> None:
    """Record the next repetition of a group."""
    frame = _frame(level, attempt, iteration=repetition)
    rows.frames.append(frame)
    session.add(frame)
    session.flush()


def _frames(level: Level, step: WorkingStep, attempt: Attempt, scope: Mapping[str, Any], find: Find) -> list[Frame]:
    if step.each is not None:
        found = _elements(step, step.each, scope)
        return [_frame(level, attempt, key=key, item={"item": item}) for key, item in found.items()]
    match step:
        case ParallelStep():
            return [_frame(level, attempt, key=name) for name in step.parallel.branches]
        case UsesStep():
            frame = _frame(level, attempt)
            frame.workflow, frame.given = step.uses, {"inputs": bound_inputs(step, scope, _used(step, find))}
            return [frame]
        case _:
            return [_frame(level, attempt)]


def _used(step: UsesStep, find: Find) -> Workflow:
    used = find(step.uses)
    assert used is not None, "a workflow that is not there is refused at load"
    return used


def _frame(
    level: Level, attempt: Attempt, *, key: str | None = None, item: dict[str, Any] | None = None, iteration: int = 0
) -> Frame:
    name = attempt.step if key is None else f"{attempt.step}[{_in_path(key)}]"
    # an attempt of its own each time that the row comes by, and a repetition of a group within it
    turn = f"{attempt.number}" if not iteration else f"{attempt.number}.{iteration}"
    return Frame(
        run_id=attempt.run_id,
        parent_id=level.frame.id,
        attempt_id=attempt.id,
        path=f"{level.frame.path.rstrip('/')}/{name}#{turn}",
        step=attempt.step,
        key=key,
        iteration=iteration,
        item=item,
    )


def _in_path(key: str) -> str:
    """A key in a path: quoted, and of a long one the beginning and a digest, as every comment bears the path."""
    name = quote(key, safe="")
    return name if len(name) <= _PATH_KEY_MAX else f"{name[: _PATH_KEY_MAX - 65].rstrip('%')}+{digest(key)}"


def _elements(step: WorkingStep, each: Each, scope: Mapping[str, Any]) -> dict[str, Any]:
    """The elements by name. Nothing runs where a name is missing or stands twice."""
    items = fill(each, ("over",), each.over, scope).value
    if items is None:
        return {}
    if not isinstance(items, list):
        message = f"`each.over` of `{step.id}` is no list"
        raise UserError("each_list", message, f"It is {_shown(items)}; give a list.")
    if len(items) > ELEMENTS_MAX:
        message = f"`each.over` of `{step.id}` has {len(items):,} elements, more than {ELEMENTS_MAX:,}"
        raise UserError("each_list", message, "Give a shorter list, or several steps.")
    found: dict[str, Any] = {}
    for index, item in enumerate(items):
        name = str(index) if each.key is None else _name(step, each.key, index, item)
        if name in found:
            message = f"two elements of `{step.id}` have the key `{name}`"
            raise UserError("each_key", message, f"`{each.key}` has to be different in every element.")
        found[name] = item
    return found


def _name(step: WorkingStep, key: str, index: int, item: Any) -> str:
    value = resolve({"item": item}, ("item", *key.split(".")))
    if value is MISS or value is None or isinstance(value, (dict, list)) or not as_text(value).strip():
        message = f"element {index} of `{step.id}` has no `{key}`"
        raise UserError("each_key", message, "Every element needs a text or number there; it names the result.")
    return as_text(value)


def _shown(value: Any) -> str:
    text = as_text(value)
    return f"`{text[:80]}…`" if len(text) > 80 else f"`{text}`"
