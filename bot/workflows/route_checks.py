"""Every route leads somewhere, every step is led to, and no walk goes on for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.model.ident import compact
from bot.workflows.base_step import BaseStep, WorkingStep
from bot.workflows.findings import Findings, listing, nearest
from bot.workflows.mark import Mark
from bot.workflows.routes import Edge, Graph, Via
from bot.workflows.routing import Verdict
from bot.workflows.signature import Declared
from bot.workflows.step import EndStep, Step
from bot.workflows.workflow import Workflow


def check_routes(workflow: Workflow, graph: Graph, findings: Findings) -> None:
    """Rule 2 of *Checked before anything runs*, and what loops and rework need to mean something."""
    ids = [step.id for step in workflow.steps]
    lost = False
    for step in workflow.steps:
        if findings.full:
            return
        lost = _check_targets(step, graph, ids, findings) or lost
        _check_loop(step, graph, findings)
        if isinstance(step, WorkingStep):
            _check_rework(step, graph, ids, findings)
            _check_decide(step, workflow, findings)
    # a route that leads nowhere explains the step that nothing leads to
    reached = graph.reachable() if not lost else frozenset(ids)
    for step in workflow.steps:
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
        case (str(word), *within):
            return step.mark_of(word, *within)
        case _:
            return step.mark


def _check_targets(step: Step, graph: Graph, ids: list[str], findings: Findings) -> bool:
    """Whether a route leads to no step."""
    lost = False
    for edge in graph.edges(step.id):
        if edge.target is None or edge.target in ids:
            continue
        lost = True
        message = f"the route leads to no step of this workflow: `{edge.target}`"
        hint = nearest(edge.target, [*ids, "end"])
        findings.error(route_mark(step, edge.key), "route", message, hint)
    return lost


def _check_loop(step: Step, graph: Graph, findings: Findings) -> None:
    edges = graph.edges(step.id)
    own = None if isinstance(step, EndStep) else step.own_loop
    if own is not None and not any(edge.backward and _is_loop(edge) for edge in edges):
        message = "`loop` means nothing here: no route of this step leads back"
        findings.error(step.mark_of("loop"), "modifier", message, "it belongs to the step whose route leads back")
    for edge in edges:
        if edge.via is Via.EXHAUSTED and edge.backward:
            message = f"`on_exhaust` leads back to `{edge.target}`, so the loop would never end"
            findings.error(route_mark(step, edge.key), "route", message, "name a step below this one, `fail` or `last`")


def _is_loop(edge: Edge) -> bool:
    return edge.via not in (Via.REWORK, Via.EXHAUSTED)


def _check_rework(step: WorkingStep, graph: Graph, ids: list[str], findings: Findings) -> None:
    retried = step.result is not None and step.result.on_mismatch == "retry"
    if step.rework is None:
        if retried and step.result is not None:
            hint = f"add `rework: {{to: {step.id}}}`"
            mark = step.result.mark_of("on_mismatch")
            findings.error(mark, "missing_key", "`on_mismatch: retry` needs `rework`", hint)
        return
    if not retried:
        message = "`rework` means nothing here: nothing of this step asks for it"
        hint = "it serves `result: {on_mismatch: retry}`"
        findings.error(step.mark_of("rework"), "modifier", message, hint)
    elif step.rework.on_exhaust == "last":
        message = "`on_exhaust: last` would go on with a result that does not fit"
        findings.error(step.rework.mark_of("on_exhaust"), "option", message, "use `fail`, or a step's id")
    for place, to in enumerate(step.rework.targets):
        if to in ids and to != step.id and not graph.leads_to(to, step.id):
            mark = step.rework.mark_of("to", place)
            message = f"`rework` goes back, but no route leads from `{to}` to `{step.id}`"
            before = graph.upstream(step.id)
            findings.error(mark, "route", message, f"steps to go back to: {listing((*before, step.id))}")


def _check_decide(step: WorkingStep, workflow: Workflow, findings: Findings) -> None:
    """Every value that is known to be possible has a transition, and no transition waits for an impossible one."""
    if step.decide is None or isinstance(step.decide, Verdict):
        return
    options = possible_values(step.decide.split("."), step, workflow)
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


def possible_values(path: list[str], step: BaseStep, workflow: Workflow) -> tuple[str, ...]:
    """The string forms of all values that a path may have, where a declaration says; else none."""
    match path:
        case ["result", *rest]:
            owner: BaseStep | None = step
        case ["steps", name, "result", *rest]:
            owner = workflow.step(name)
        case ["inputs", name]:
            return _input_values(workflow.inputs.get(name))
        case _:
            return ()
    if not isinstance(owner, WorkingStep) or owner.result is None or not owner.result.ready:
        return ()
    schema: Any = owner.result.checker.schema
    for segment in rest:
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        schema = properties.get(segment) if isinstance(properties, Mapping) else None
    if not isinstance(schema, Mapping):
        return ()
    if isinstance(schema.get("enum"), list):
        return tuple(one if isinstance(one, str) else compact(one) for one in schema["enum"])
    return ("true", "false") if schema.get("type") == "boolean" else ()


def _input_values(declared: Declared | None) -> tuple[str, ...]:
    if declared is None:
        return ()
    return ("true", "false") if declared.type == "bool" else declared.options
