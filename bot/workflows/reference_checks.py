"""Every reference names what can be there when it is read: a step upstream, a written key, a declared word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from bot.workflows.agent import Agent
from bot.workflows.base_step import WorkingStep
from bot.workflows.conditions import LATER_NAMES, NAMES, Condition
from bot.workflows.context_keys import is_engine_key
from bot.workflows.findings import Findings, listing, meant, nearest
from bot.workflows.mark import Mark
from bot.workflows.node import Node
from bot.workflows.routes import Graph
from bot.workflows.routing import Verdict
from bot.workflows.slots import NAMESPACES, field_fault
from bot.workflows.step import AgentStep, EndStep, Step, SwitchStep
from bot.workflows.template import Template
from bot.workflows.workflow import Workflow

#: references of all steps, those of their agents counted with each
REFERENCES_MAX = 20_000

_DEEP = NAMESPACES["steps"].deep
#: names that templates have and conditions do not
_ELSEWHERE = frozenset(NAMESPACES) - {*NAMES, *LATER_NAMES}


@dataclass(frozen=True, slots=True)
class _Use:
    """One reference of a step, as it will be read."""

    path: tuple[str, ...]
    mark: Mark
    form: Literal["token", "condition", "decide", "context", "reads"]
    #: it is read when the attempt is over, so that the step itself is among what it may name
    after: bool = False
    #: the workflow's own, not its agent's, which serves many workflows
    own: bool = True
    #: a value stands ready for a miss
    has_default: bool = False
    #: `value` means something
    in_verdict: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def lenient(self) -> bool:
        return not self.own and self.has_default


def check_references(workflow: Workflow, graph: Graph, agents: Mapping[str, Agent], findings: Findings) -> None:
    """Rules 3 to 5 of *Checked before anything runs*: one finding for each step and name, the first or the worst."""
    written = _producers(workflow)
    for step in workflow.steps:
        if findings.full:
            return
        checks = _Checks(workflow, graph, step, written)
        for use in _uses(step, agents):
            findings.references += 1
            if findings.references > REFERENCES_MAX:
                checks.report(findings)
                message = f"all steps together have more than {REFERENCES_MAX:,} templates"
                findings.error(step.mark, "too_many", message, "use fewer steps, or fewer templates in agents' prompts")
                return
            checks.take(use)
        checks.report(findings)


def _uses(step: Step, agents: Mapping[str, Agent]) -> Iterator[_Use]:
    for node in _nodes(step):
        for _, template in node.templates():
            yield from _tokens(template, step.mark)
    if step.condition is not None:
        yield from _conditions(step.condition, step.mark)
    if not isinstance(step, EndStep):
        verdict = isinstance(step, WorkingStep) and isinstance(step.decide, Verdict)
        for case in step.cases:
            if case.condition is not None:
                yield from _conditions(case.condition, case.mark, after=True, in_verdict=verdict)
    if isinstance(step, WorkingStep):
        if step.decide is not None:
            written, mark = (
                (step.decide.verdict, step.decide.mark_of("verdict"))
                if isinstance(step.decide, Verdict)
                else (step.decide, step.mark_of("decide"))
            )
            yield _Use(tuple(written.split(".")), mark, "decide", after=True)
        for place, key in enumerate(step.reads):
            yield _Use(("ctx", *key.split(".")), step.mark_of("reads", place), "reads")
    if isinstance(step, AgentStep):
        for place, reference in enumerate(step.references):
            path = tuple(reference.text.split("."))
            whole = ("steps", *path, *(("output",) if len(path) == 1 else ())) if reference.step else path
            yield _Use(whole, step.mark_of("context", place), "context")
        agent = agents.get(step.agent)
        if agent is not None and agent.system is not None:
            yield from _tokens(agent.system, step.mark, own=False)


def _nodes(step: Step) -> Iterator[Node]:
    yield step
    if isinstance(step, AgentStep):
        yield from step.inputs.values()
    if isinstance(step, EndStep):
        yield step.end


def _tokens(template: Template, mark: Mark, *, own: bool = True) -> Iterator[_Use]:
    for token in template.references:
        yield _Use(token.path, token.mark or mark, "token", own=own, has_default=token.has_default)


def _conditions(condition: Condition, mark: Mark, *, after: bool = False, in_verdict: bool = False) -> Iterator[_Use]:
    for one in condition.references:
        yield _Use(one.path, one.mark or mark, "condition", after=after, in_verdict=in_verdict)


class _Checks:
    """The references of one step."""

    def __init__(self, workflow: Workflow, graph: Graph, step: Step, produced: Mapping[str, list[str]]) -> None:
        self._workflow = workflow
        self._graph = graph
        self._step = step
        self._produced = produced
        self._found: dict[tuple[str, str], tuple[bool, Mark, str, str, str]] = {}

    def report(self, findings: Findings) -> None:
        for is_error, mark, code, message, hint in self._found.values():
            (findings.error if is_error else findings.warning)(mark, code, message, hint)

    def _add(self, use: _Use, subject: str, code: str, message: str, hint: str, *, error: bool = True) -> None:
        key = (use.mark.file if not use.own else "", subject)
        before = self._found.get(key)
        if before is None or (error and not before[0]):
            self._found[key] = (error, use.mark, code, message, hint)

    def take(self, use: _Use) -> None:
        match use.path[0]:
            case "params":
                self._param(use)
            case "inputs":
                self._input(use)
            case "steps" if len(use.path) > 1:
                self._steps(use)
            case "ctx" if len(use.path) > 1:
                self._key(use, ".".join(use.path[1:]))
            case "result" if use.form == "decide":
                self._declared(use, self._step, use.path[1:])
            case _ if use.form == "condition":
                self._name(use)

    def _param(self, use: _Use) -> None:
        known = self._workflow.params
        # an agent's prompt serves many workflows, so there a default makes up for a param that this one lacks
        if len(use.path) > 1 and use.path[1] not in known and not use.lenient:
            hint = meant(use.path[1], known) or f"declare it: `params: {{{use.path[1]}: …}}`"
            message = f"the workflow `{self._workflow.called}` has no param `{use.path[1]}`"
            self._add(use, f"params.{use.path[1]}", "unknown_param", message, hint)

    def _input(self, use: _Use) -> None:
        known = self._workflow.inputs
        if len(use.path) > 1 and use.path[1] not in known and not use.lenient:
            hint = meant(use.path[1], known) or f"declare it: `inputs: {{{use.path[1]}: {{type: text}}}}`"
            message = f"the workflow `{self._workflow.called}` has no input `{use.path[1]}`"
            self._add(use, f"inputs.{use.path[1]}", "unknown_input", message, hint)

    def _name(self, use: _Use) -> None:
        """The first word of a path in a condition."""
        name = use.path[0]
        if name in ("trigger", "issue"):
            fault = field_fault(use.path, use.name) if len(use.path) > 1 else None
            if fault is not None:
                self._add(use, use.name, *fault)
        elif name in LATER_NAMES:
            self._add(use, name, "not_available", f"`{name}` is not available yet", "it comes with a later version")
        elif name == "value" and not use.in_verdict:
            message = "`value` means something only in the cases of a verdict; the condition is always false"
            self._add(use, name, "unknown_name", message, "name the value by its path", error=False)
        elif name not in NAMES:
            known = [one for one in NAMES if one != "value" or use.in_verdict]
            reason = "conditions do not have it" if name in _ELSEWHERE else "nothing has this name"
            hint = meant(name, known) or f"conditions have {listing(known)}; text stands in quotes"
            message = f"`{name}`: {reason}, so the condition is always false"
            self._add(use, name, "unknown_name", message, hint, error=False)

    def _steps(self, use: _Use) -> None:
        name, step = use.path[1], self._step
        if name == step.id and use.after:
            pass
        elif name == step.id:
            message = f"the step `{name}` cannot use what it has not done yet"
            self._unknown(use, name, message)
            return
        elif not self._graph.leads_to(name, step.id):
            if use.lenient:
                return
            if self._workflow.step(name) is None:
                message = f"there is no step `{name}`"
            elif self._graph.leads_to(step.id, name):
                message = f"the step `{name}` runs after `{step.id}`"
            else:
                message = f"no route leads from the step `{name}` to `{step.id}`"
            self._unknown(use, name, message)
            return
        self._field(use, name)

    def _unknown(self, use: _Use, name: str, message: str) -> None:
        before = self._graph.upstream(self._step.id)
        hint = f"steps before it: {listing(before)}" if before else "no step runs before it"
        self._add(use, f"steps.{name}", "unknown_step", message, hint)

    def _field(self, use: _Use, name: str) -> None:
        """What of a step that may have run is named."""
        owner = self._workflow.step(name)
        if len(use.path) < 3 or owner is None:
            return
        if use.form in ("condition", "decide") and not (use.path[2] in _DEEP and len(use.path) == 3):
            fault = field_fault(use.path, use.name)
            if fault is not None:
                self._add(use, use.name, *fault)
                return
        if use.path[2] == "output" and use.form == "context" and isinstance(owner, (SwitchStep, EndStep)):
            self._add(use, use.name, "context", f"the step `{name}` has no output", "name a step that gives one")
        elif use.path[2] == "result":
            self._declared(use, owner, use.path[3:])
        elif use.path[2] == "ctx" and len(use.path) > 3:
            key = ".".join(use.path[3:])
            written = _written(owner)
            if key not in written and not is_engine_key(key):
                message = f"the step `{name}` does not write `{key}`"
                hint = nearest(key, written) or f"add `writes: [{key}]` to it"
                self._add(use, use.name, "context_key", message, hint, error=use.form != "token")

    def _declared(self, use: _Use, owner: Step, path: tuple[str, ...]) -> None:
        """A path into a result: where fields are declared, it should begin with one of them."""
        if isinstance(owner, EndStep):
            self._add(use, use.name, "context", f"the step `{owner.id}` has no result", "name a step that gives one")
            return
        declared = owner.result.declared if isinstance(owner, WorkingStep) and owner.result is not None else {}
        for segment in path:
            if not declared:
                return
            if segment not in declared:
                message = f"the result of `{owner.id}` declares no `{segment}`"
                self._add(use, use.name, "unknown_field", message, nearest(segment, declared), error=False)
                return
            declared = declared[segment].fields

    def _key(self, use: _Use, key: str) -> None:
        """A key of the run context: somebody writes it, and can have run before."""
        if is_engine_key(key) or use.lenient:
            return
        producers = self._produced.get(key, [])
        if not producers and use.form == "condition":
            # in a condition dotted keys are nested, so that `ctx.a` holds `a.b`
            producers = [step for one, steps in self._produced.items() if one.startswith(f"{key}.") for step in steps]
        if not producers:
            hint = meant(key, self._produced) or f"let a step before it have `writes: [{key}]`"
            message = f"no step writes `{key}`"
            self._add(use, f"ctx.{key}", "context_key", message, hint, error=use.form != "token")
        elif not (use.after and self._step.id in producers) and not self._before(producers):
            message = f"`{key}` is written by {listing(producers)}, from where no route leads to `{self._step.id}`"
            self._add(use, f"ctx.{key}", "context_key", message, "write it in a step before this one", error=False)

    def _before(self, producers: list[str]) -> bool:
        return any(self._graph.leads_to(one, self._step.id) for one in producers)


def _producers(workflow: Workflow) -> dict[str, list[str]]:
    """By each key that an author named: the steps that write it."""
    found: dict[str, list[str]] = {}
    for step in workflow.steps:
        for key in _written(step):
            found.setdefault(key, []).append(step.id)
    return found


def _written(step: Step) -> tuple[str, ...]:
    """The keys of its own that a step writes."""
    if not isinstance(step, WorkingStep):
        return ()
    reasons = step.rework.comments_as if step.rework is not None else None
    return (*step.writes, *((reasons,) if reasons else ()))
