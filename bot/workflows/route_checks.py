"""Every route leads somewhere, every step is led to, and no walk goes on for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.model.ident import compact
from bot.workflows.base_step import BaseStep, WorkingStep
from bot.workflows.each import Each
from bot.workflows.findings import Findings, listing, nearest
from bot.workflows.frames import Frame, Frames
from bot.workflows.gate_steps import AskStep, Back
from bot.workflows.mark import Mark
from bot.workflows.routes import Edge, Graph, Via
from bot.workflows.routing import Rework, Verdict
from bot.workflows.schema_types import declared_schema
from bot.workflows.signature import Declared
from bot.workflows.step import ClassifyStep, EndStep, GroupStep, Step
from bot.workflows.workflow import Workflow


def check_routes(workflow: Workflow, frames: Frames, findings: Findings) -> None:
    """Rule 2 of *Checked before anything runs* for every frame, and what loops and rework need to mean something."""
    for frame in frames.rows:
        _check_frame(workflow, frames, frame, findings)


def _check_frame(workflow: Workflow, frames: Frames, frame: Frame, findings: Findings) -> None:
    lost = False
    for step in frame.steps:
        if findings.full:
            return
        lost = _check_targets(step, frame, frames, findings) or lost
        _check_loop(step, frame.graph, findings)
        if isinstance(step, WorkingStep):
            _check_each(step, findings)
            _check_rework(step, frame, findings)
            _check_decide(step, workflow, frames, findings)
    # a route that leads nowhere explains the step that nothing leads to
    reached = frame.graph.reachable() if not lost else frozenset(frame.graph.ids)
    for step in frame.steps:
        if step.id not in reached and not findings.full:
            hint = "let a route lead to it, or remove it"
            findings.error(step.mark_of("id"), "unreachable", f"no route leads to the step `{step.id}`", hint)


def route_mark(step: Step, key: tuple[str | int, ...]) -> Mark:
    """Where a route of a step was written."""
    match key:
        case ("next" | "switch", int(place), str(word)):
            return step.cases[place].mark_of(word) if not isinstance(step, EndStep) else step.mark
        case ("decide", "cases", int(place), str(word)):
            return step.cases[place].mark_of(word) if not isinstance(step, EndStep) else step.mark
        case ("result" | "rework" | "loop" as owner, str(word), *within):
            node = getattr(step, "own_loop" if owner == "loop" else owner)
            return step.mark if node is None else node.mark_of(word, *within)
        case ("options", str(label), "rework"):
            option = step.options.get(label) if isinstance(step, AskStep) else None
            return option.mark_of("rework") if isinstance(option, Back) else step.mark
        case (str(word), *within):
            return step.mark_of(word, *within)
        case _:
            return step.mark


def _check_targets(step: Step, frame: Frame, frames: Frames, findings: Findings) -> bool:
    """Whether a route leads to no step of the frame."""
    lost = False
    ids = frame.graph.ids
    for edge in frame.graph.edges(step.id):
        if edge.target is None or edge.target in frame.graph:
            continue
        lost = True
        message = f"the route leads to no step of this workflow: `{edge.target}`"
        hint = nearest(edge.target, [*ids, "end"])
        if frames.step(edge.target) is not None:
            message = f"the route leads out of its frame: `{edge.target}` is no step of this row"
            hint = f"routes stay in their frame, which has {listing([*ids, 'end'])}"
        findings.error(route_mark(step, edge.key), "route", message, hint)
    return lost


def _check_loop(step: Step, graph: Graph, findings: Findings) -> None:
    edges = graph.edges(step.id)
    own = None if isinstance(step, EndStep) else step.own_loop
    if own is not None and isinstance(step, GroupStep):
        if own.until is None:
            hint = "add `until: \"outcome == 'success'\"`; it says when the group has run often enough"
            findings.error(step.mark_of("loop"), "missing_key", "`loop` of a group needs `until`", hint)
    elif own is not None:
        if own.until is not None:
            message = "`until` means nothing here: only a group of `steps` runs again until something holds"
            findings.error(own.mark_of("until"), "modifier", message, "put the steps into a group, or route back")
        if not any(edge.backward and _is_loop(edge) for edge in edges):
            message = "`loop` means nothing here: no route of this step leads back"
            findings.error(step.mark_of("loop"), "modifier", message, "it belongs to the step whose route leads back")
    for edge in edges:
        if edge.via is Via.EXHAUSTED and edge.backward:
            message = f"`on_exhaust` leads back to `{edge.target}`, so the loop would never end"
            findings.error(route_mark(step, edge.key), "route", message, "name a step below this one, `fail` or `last`")


def _is_loop(edge: Edge) -> bool:
    return edge.via not in (Via.REWORK, Via.EXHAUSTED)


def _check_each(step: WorkingStep, findings: Findings) -> None:
    """`each` with what else would run the step again."""
    if step.each is None:
        return
    if step.own_loop is not None:
        message = "`each` and `loop` on one step mean nothing together"
        findings.error(step.mark_of("loop"), "modifier", message, "put the step into a group of `steps` with `loop`")
    for place, to in enumerate(step.rework.targets if step.rework is not None else ()):
        if to != step.id and step.rework is not None:
            message = f"an element cannot go back to `{to}`, which is outside of it"
            hint = f"under `each`, `rework` leads to the step itself: `{{to: {step.id}}}`"
            findings.error(_to_mark(step.rework, place), "route", message, hint)
    for option in step.options.values() if isinstance(step, AskStep) else ():
        if isinstance(option, Back) and option.rework != step.id:
            message = f"an element cannot go back to `{option.rework}`, which is outside of it"
            hint = f"under `each`, an answer sends back to the step itself: `{{rework: {step.id}}}`"
            findings.error(option.mark_of("rework"), "route", message, hint)


def check_concurrency(step: WorkingStep, each: Each, findings: Findings) -> None:
    """What waits for people is not under way twice at once."""
    if "concurrency" in each.model_fields_set and each.concurrency != step.concurrency:
        message = f"with `ask`, `wait` or an approval inside, the elements of `{step.id}` run one after the other"
        findings.error(each.mark_of("concurrency"), "modifier", message, "remove `concurrency`, or write 1")


def _to_mark(rework: Rework, place: int) -> Mark:
    return rework.mark_of("to") if isinstance(rework.to, str) else rework.mark_of("to", place)


def _check_rework(step: WorkingStep, frame: Frame, findings: Findings) -> None:
    retried = step.result is not None and step.result.on_mismatch == "retry"
    backs = _check_backs(step, frame, findings)
    if step.rework is None:
        if retried and step.result is not None:
            hint = f"add `rework: {{to: {step.id}}}`"
            mark = step.result.mark_of("on_mismatch")
            findings.error(mark, "missing_key", "`on_mismatch: retry` needs `rework`", hint)
        return
    if not retried and not backs:
        message = "`rework` means nothing here: nothing of this step asks for it"
        hint = "it serves `result: {on_mismatch: retry}`, and answers of a gate: `{rework: id}`"
        findings.error(step.mark_of("rework"), "modifier", message, hint)
    elif retried and step.rework.on_exhaust == "last":
        message = "`on_exhaust: last` would go on with a result that does not fit"
        findings.error(step.rework.mark_of("on_exhaust"), "option", message, "use `fail`, or a step's id")
    for place, to in enumerate(step.rework.targets):
        _check_back(step, to, _to_mark(step.rework, place), frame, findings)


def _check_backs(step: WorkingStep, frame: Frame, findings: Findings) -> bool:
    """Whether an answer of the step sends work back."""
    found = False
    for label, option in step.options.items() if isinstance(step, AskStep) else ():
        if not isinstance(option, Back):
            continue
        found = True
        mark = option.mark_of("rework")
        if step.rework is not None and option.rework not in step.rework.targets:
            message = f"`{label}` goes back to `{option.rework}`, which the step's `rework` does not name"
            findings.error(mark, "route", message, f"`rework.to` has {listing(step.rework.targets)}")
        elif step.rework is None:
            _check_back(step, option.rework, mark, frame, findings)
    return found


def _check_back(step: WorkingStep, to: str, mark: Mark, frame: Frame, findings: Findings) -> None:
    if to in frame.graph and to != step.id and not frame.graph.leads_to(to, step.id):
        message = f"`rework` goes back, but no route leads from `{to}` to `{step.id}`"
        before = frame.graph.upstream(step.id)
        findings.error(mark, "route", message, f"steps to go back to: {listing((*before, step.id))}")


def _check_decide(step: WorkingStep, workflow: Workflow, frames: Frames, findings: Findings) -> None:
    """Every value that is known to be possible has a transition, and no transition waits for an impossible one."""
    if step.decide is None or isinstance(step.decide, Verdict):
        return
    options = possible_values(step.decide.split("."), step, workflow, frames)
    if not options:
        return
    lacking = [option for option in options if option not in step.transitions]
    if lacking:
        message = f"`{step.decide}` may be {listing(lacking)}, and no transition says what follows"
        hint = f"add `{lacking[0]}: step`"
        findings.error(step.mark_of("transitions"), "transition", message, hint)
    for value in step.transitions:
        if value not in options:
            message = f"`{step.decide}` is never `{value}`"
            findings.warning(step.mark_of("transitions", value), "transition", message, nearest(value, options))


def possible_values(path: list[str], step: BaseStep, workflow: Workflow, frames: Frames) -> tuple[str, ...]:
    """The string forms of all values that a path may have, where a declaration says; else none."""
    match path:
        case ["result", *rest]:
            owner: BaseStep | None = step
        case ["steps", name, "result", *rest]:
            owner = frames.step(name)
        case ["preferred_label"]:
            return _labels(step)
        case ["inputs", name]:
            return _input_values(workflow.inputs.get(name))
        case _:
            return ()
    schema: Any = declared_schema(owner) if isinstance(owner, WorkingStep) else None
    for segment in rest:
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        schema = properties.get(segment) if isinstance(properties, Mapping) else None
    if not isinstance(schema, Mapping):
        return ()
    if isinstance(schema.get("enum"), list):
        return tuple(one if isinstance(one, str) else compact(one) for one in schema["enum"])
    return ("true", "false") if schema.get("type") == "boolean" else ()


def _labels(step: BaseStep) -> tuple[str, ...]:
    """The labels that the step itself may give; of a gate with free text or of several elements nothing is known."""
    if not isinstance(step, WorkingStep) or step.each is not None:
        return ()
    if isinstance(step, ClassifyStep):
        return tuple(step.classify.labels)
    return step.labels if isinstance(step, AskStep) and not step.text else ()


def _input_values(declared: Declared | None) -> tuple[str, ...]:
    if declared is None:
        return ()
    return ("true", "false") if declared.type == "bool" else declared.options
