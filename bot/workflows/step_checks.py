"""References to steps: which a step can see, which hide what is in them, and what each sort of step has to name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.workflows.base_step import WorkingStep
from bot.workflows.context_keys import is_engine_key
from bot.workflows.findings import listing, nearest
from bot.workflows.frames import Frames, Sight, View
from bot.workflows.key_checks import written_by
from bot.workflows.readings import Reading
from bot.workflows.result_fields import ResultField
from bot.workflows.schema_types import declared_schema
from bot.workflows.slots import NAMESPACES, field_fault
from bot.workflows.step import EndStep, NotifyStep, ParallelStep, Step, UsesStep, bodies, walk
from bot.workflows.workflow import Workflow

if TYPE_CHECKING:
    from bot.workflows.reference_checks import Noted

_DEEP = NAMESPACES["steps"].deep
#: kinds whose steps give nothing to post
_SILENT = frozenset({"switch", "end", "notify", "connector", "wait"})
#: fields of a step that only some kinds fill
_FILLED: Mapping[str, frozenset[str]] = {
    "pr_url": frozenset({"pull_request"}),
    "branch": frozenset({"pull_request", "agent", "run", "code"}),
}


class StepChecks:
    """The references of one step to others."""

    def __init__(self, frames: Frames, step: Step, workflows: Mapping[str, Workflow], noted: Noted) -> None:
        self._frames = frames
        self._step = step
        self._workflows = workflows
        self._noted = noted

    def take(self, use: Reading) -> None:
        name, step = use.path[1], self._step
        view = self._frames.view(name, step)
        seen = view.sight is Sight.SEEN or (view.sight is Sight.ITSELF and use.after)
        if not seen and not (use.from_inside and self._frames.within(name, step)):
            if not use.lenient or view.sight in (Sight.ITSELF, Sight.AROUND):
                self._unseen(use, name, view)
            return
        self._field(use, name)

    def _unseen(self, use: Reading, name: str, view: View) -> None:
        step = self._step.id
        before = self._frames.before(self._step)
        hint = f"steps before it: {listing(before)}" if before else "no step runs before it"
        match view.sight:
            case Sight.ITSELF:
                message = f"the step `{name}` cannot use what it has not done yet"
            case Sight.AROUND:
                message = f"the step `{name}` has not ended where `{step}` runs: it holds it"
            case Sight.AFTER:
                message = f"the step `{name}` runs after `{step}`"
            case Sight.WITHIN:
                message, hint = _within(name, view)
            case Sight.UNKNOWN:
                message = f"there is no step `{name}`"
                hint = self._used(name) or hint
            case _:
                message = f"no route leads from the step `{name}` to `{step}`"
        self._noted.add(use, f"steps.{name}", "unknown_step", message, hint)

    def _used(self, name: str) -> str:
        """Where a step of that name stands in a workflow that this one uses: what to write instead."""
        for frame in self._frames.rows:
            for one in frame.steps:
                used = self._workflows.get(one.uses) if isinstance(one, UsesStep) else None
                if used is not None and any(inner.id == name for inner in walk(used.steps)):
                    return (
                        f"it is a step of the workflow `{used.called}`, which gives its export: `steps.{one.id}.result`"
                    )
        return ""

    def _field(self, use: Reading, name: str) -> None:
        """What of a step that may have run is named."""
        owner = self._frames.step(name)
        if len(use.path) < 3 or owner is None:
            return
        field = use.path[2]
        if use.form in ("condition", "decide", "bound") and not (field in _DEEP and len(use.path) == 3):
            fault = field_fault(use.path, use.name)
            if fault is not None:
                self._noted.add(use, use.name, *fault)
                return
        filled = _FILLED.get(field)
        fanned = isinstance(owner, WorkingStep) and owner.each is not None
        if filled is not None and owner.kind not in filled:
            message = f"a step of kind `{owner.kind}` has no `{field}`"
            hint = f"name a step of kind {listing(sorted(filled))}"
            self._noted.add(use, use.name, "unknown_field", message, hint, error=False)
        elif field == "output" and use.form == "context" and owner.kind in _SILENT and not fanned:
            message = f"the step `{name}` has no output"
            self._noted.add(use, use.name, "context", message, "name a step that gives one, or a path of its result")
        elif field == "result":
            self.declared(use, owner, use.path[3:])
        elif field == "ctx" and len(use.path) > 3:
            key = ".".join(use.path[3:])
            written = written_by(owner)
            if key not in written and not is_engine_key(key):
                message = f"the step `{name}` does not write `{key}`"
                hint = nearest(key, written) or f"add `writes: [{key}]` to it"
                self._noted.add(use, use.name, "context_key", message, hint, error=use.form != "token")

    def declared(self, use: Reading, owner: Step, path: tuple[str, ...]) -> None:
        """A path into a result: where fields are declared, it should begin with one of them."""
        if isinstance(owner, EndStep):
            message = f"the step `{owner.id}` has no result"
            self._noted.add(use, use.name, "context", message, "name a step that gives one")
            return
        if not isinstance(owner, WorkingStep) or not path:
            return
        if owner.each is not None:
            path = path[1:]  # the element's key, which nobody knows before
        if isinstance(owner, ParallelStep) and owner.result is None:
            branches = bodies(owner)
            if path and path[0] not in branches:
                message = f"`{owner.id}` has no branch `{path[0]}`"
                self._noted.add(use, use.name, "unknown_field", message, nearest(path[0], branches))
            return
        fields: Mapping[str, ResultField] = owner.result.declared if owner.result is not None else {}
        known = list(fields) if owner.result is not None else _kinds_own(owner)
        for segment in path:
            if not known:
                return
            if segment not in known:
                message = f"the result of `{owner.id}` declares no `{segment}`"
                self._noted.add(use, use.name, "unknown_field", message, nearest(segment, known), error=False)
                return
            fields = fields[segment].fields if segment in fields else {}
            known = list(fields)


def _kinds_own(owner: WorkingStep) -> list[str]:
    """The keys of a result that the kind itself gives."""
    if owner.each is not None or isinstance(owner, NotifyStep):
        return []
    return list((declared_schema(owner) or {}).get("properties", ()))


def _within(name: str, view: View) -> tuple[str, str]:
    """What is said of a step that stands in a frame of its own, and the ways to what it gives."""
    owner = view.owner
    assert owner is not None  # of every step within there is one around it
    key = "<key>." if isinstance(owner, WorkingStep) and owner.each is not None else ""
    if not isinstance(owner, ParallelStep):
        return f"the step `{name}` stands inside `{owner.id}`", f"what that gives is `steps.{owner.id}.result.{key}…`"
    ways = f"`steps.{owner.id}.result.{key}{view.branch}.…`, or the JSON in `ctx.parallel.results`"
    if view.beside:
        return f"the step `{name}` runs beside it, in another branch of `{owner.id}`", f"after `{owner.id}`: {ways}"
    return f"the step `{name}` stands in a branch of `{owner.id}`", f"name it as {ways}"
