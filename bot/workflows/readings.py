"""What a step reads: every reference in its templates, conditions, paths and lists, and in its agent's prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from bot.workflows.agent import Agent
from bot.workflows.agent_step import AgentStep, AskingStep
from bot.workflows.base_step import BaseStep, WorkingStep
from bot.workflows.conditions import Condition
from bot.workflows.each import Each
from bot.workflows.mark import Mark
from bot.workflows.node import Node
from bot.workflows.routing import Verdict
from bot.workflows.slots import Slot
from bot.workflows.step import EndStep, Step
from bot.workflows.template import Template
from bot.workflows.tools import ToolEntry


class Reading(NamedTuple):
    """One reference of a step, as it will be read."""

    path: tuple[str, ...]
    mark: Mark
    form: Literal["token", "condition", "decide", "context", "reads", "bound"]
    #: it is read when the attempt is over, so that the step itself is among what it may name
    after: bool = False
    #: the workflow's own, not its agent's, which serves many workflows
    own: bool = True
    #: a value stands ready for a miss
    has_default: bool = False
    #: `value` means something
    in_verdict: bool = False
    #: it is read for each element of the step's own `each`
    inside: bool = True
    #: it is read when the steps of the group have run, from among them
    from_inside: bool = False
    slot: Slot = Slot.CONDITION

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def lenient(self) -> bool:
        """Whether a workflow that lacks the value is none of the prompt's faults."""
        return not self.own and self.has_default


def readings(step: Step, agents: Mapping[str, Agent]) -> Iterator[Reading]:
    """Everything that one step reads; steps within it have readings of their own."""
    for node in parts(step):
        inside = not isinstance(node, Each)
        for _, template in node.templates():
            yield from _tokens(template, step.mark, inside=inside)
    if step.condition is not None:
        yield from _conditions(step.condition, step.mark)
    if not isinstance(step, EndStep):
        verdict = isinstance(step, WorkingStep) and isinstance(step.decide, Verdict)
        for case in step.cases:
            if case.condition is not None:
                yield from _conditions(case.condition, case.mark, after=True, in_verdict=verdict)
        if step.own_loop is not None and step.own_loop.condition is not None:
            yield from _conditions(step.own_loop.condition, step.own_loop.mark, after=True, from_inside=True)
    if isinstance(step, WorkingStep):
        yield from _paths(step)
    if isinstance(step, AskingStep):
        for place, reference in enumerate(step.references):
            path = tuple(reference.text.split("."))
            whole = ("steps", *path, *(("output",) if len(path) == 1 else ())) if reference.step else path
            yield Reading(whole, step.mark_of("context", place), "context")
        agent = agents.get(step.asked)
        if agent is not None and agent.system is not None:
            yield from _tokens(agent.system, step.mark, own=False)
        if isinstance(step, AgentStep):
            own = {entry.name for entry in step.tools}
            yield from _bound(step.tools)
            yield from _bound([e for e in agent.tools if e.name not in own] if agent is not None else (), own=False)


def parts(node: Node) -> Iterator[Node]:
    """A step and everything in it that is no step."""
    yield node
    for inner in node.parts():
        if not isinstance(inner, BaseStep):
            yield from parts(inner)


def _paths(step: WorkingStep) -> Iterator[Reading]:
    if isinstance(step.decide, Verdict):
        path, mark = step.decide.verdict, step.decide.mark_of("verdict")
        yield Reading(tuple(path.split(".")), mark, "decide", after=True, inside=False)
    elif step.decide is not None:
        yield Reading(tuple(step.decide.split(".")), step.mark_of("decide"), "decide", after=True, inside=False)
    for place, key in enumerate(step.reads):
        yield Reading(("ctx", *key.split(".")), step.mark_of("reads", place), "reads")


def _bound(tools: Iterable[ToolEntry], *, own: bool = True) -> Iterator[Reading]:
    for entry in tools:
        for argument, path in entry.bound_args.items():
            yield Reading(tuple(path.split(".")), entry.mark_of("bound_args", argument), "bound", own=own)


def _tokens(template: Template, mark: Mark, *, own: bool = True, inside: bool = True) -> Iterator[Reading]:
    for token in template.references:
        yield Reading(
            token.path,
            token.mark or mark,
            "token",
            own=own,
            has_default=token.has_default,
            inside=inside,
            slot=template.slot,
        )


def _conditions(
    condition: Condition, mark: Mark, *, after: bool = False, in_verdict: bool = False, from_inside: bool = False
) -> Iterator[Reading]:
    for one in condition.references:
        yield Reading(
            one.path,
            one.mark or mark,
            "condition",
            after=after,
            in_verdict=in_verdict,
            inside=False,
            from_inside=from_inside,
        )
