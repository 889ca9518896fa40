"""Keys of the run context: who writes them, and whether that can have happened when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.workflows.base_step import WorkingStep
from bot.workflows.context_keys import is_engine_key
from bot.workflows.findings import listing, meant
from bot.workflows.frames import Frames
from bot.workflows.readings import Reading
from bot.workflows.step import ParallelStep, Step

if TYPE_CHECKING:
    from bot.workflows.reference_checks import Noted


def written_by(step: Step) -> tuple[str, ...]:
    """The keys of its own that a step writes."""
    if not isinstance(step, WorkingStep):
        return ()
    reasons = step.rework.comments_as if step.rework is not None else None
    return (*step.writes, *((reasons,) if reasons else ()))


def producers(frames: Frames) -> Mapping[str, list[str]]:
    """By each key that an author named: the steps that write it."""
    found: dict[str, list[str]] = {}
    for frame in frames.rows:
        for step in frame.steps:
            for key in written_by(step):
                found.setdefault(key, []).append(step.id)
    return found


class KeyChecks:
    """The keys that one step reads."""

    def __init__(self, frames: Frames, step: Step, produced: Mapping[str, list[str]], noted: Noted) -> None:
        self._frames = frames
        self._step = step
        self._produced = produced
        self._noted = noted

    def take(self, use: Reading) -> None:
        """A key of the run context: somebody writes it, can have run before, and does not keep it for itself."""
        key = ".".join(use.path[1:])
        if is_engine_key(key) or use.lenient:
            return
        writers = self._produced.get(key, [])
        if not writers and use.form == "condition":
            # in a condition dotted keys are nested, so that `ctx.a` holds `a.b`
            writers = [step for one, steps in self._produced.items() if one.startswith(f"{key}.") for step in steps]
        explicit = use.form != "token"
        if not writers:
            hint = meant(key, self._produced) or f"let a step before it have `writes: [{key}]`"
            self._noted.add(use, f"ctx.{key}", "context_key", f"no step writes `{key}`", hint, error=explicit)
        elif not any(self._reaches(one, use) for one in writers):
            keepers = [self._frames.isolated(one, self._step) for one in writers]
            if all(keepers) and keepers[0] is not None:
                message, hint = _kept(key, keepers[0])
                self._noted.add(use, f"ctx.{key}", "context_key", message, hint, error=explicit)
                return
            message = f"`{key}` is written by {listing(writers)}, from where no route leads to `{self._step.id}`"
            hint = "write it in a step before this one"
            self._noted.add(use, f"ctx.{key}", "context_key", message, hint, error=False)

    def _reaches(self, writer: str, use: Reading) -> bool:
        if writer == self._step.id and use.after:
            return not (isinstance(self._step, WorkingStep) and self._step.each is not None)
        return self._frames.writes_reach(writer, self._step, from_inside=use.from_inside)


def _kept(key: str, keeper: Step) -> tuple[str, str]:
    """What is said of a key that is written where nobody outside sees it, and the ways to its value."""
    if isinstance(keeper, ParallelStep):
        message = f"`{key}` is written in a branch of `{keeper.id}`, and branches keep what they write"
        return message, f"read `steps.{keeper.id}.result.<branch>.{key}`, or the JSON in `ctx.parallel.results`"
    message = f"`{key}` is written for each element of `{keeper.id}`, and elements keep what they write"
    return message, f"read it from `steps.{keeper.id}.result.<key>`"
