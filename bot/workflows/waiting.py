"""Steps that wait for people or events: what stands around them is never under way twice at once."""

from __future__ import annotations

from collections.abc import Mapping

from bot.workflows.agent import Agent
from bot.workflows.agent_step import AgentStep
from bot.workflows.gate_steps import AskStep, WaitStep
from bot.workflows.nested_steps import UsesStep
from bot.workflows.step import Step, walk
from bot.workflows.tools import merge
from bot.workflows.workflow import Workflow


def waits(
    step: Step,
    agents: Mapping[str, Agent],
    workflows: Mapping[str, Workflow],
    known: frozenset[str] = frozenset(),
) -> bool:
    """Whether an attempt of the step may wait: a gate, a `wait` or a tool with `approval`, in whatever it holds.

    `known` are the workflows that are looked through already, for those that use each other.
    """
    for one in walk([step]):
        if isinstance(one, (AskStep, WaitStep)):
            return True
        if isinstance(one, AgentStep) and asks_approval(one, agents.get(one.agent)):
            return True
        if isinstance(one, UsesStep) and one.uses not in known:
            used = workflows.get(one.uses)
            inner = known | {one.uses}
            if used is not None and any(waits(each, agents, workflows, inner) for each in used.steps):
                return True
    return False


def asks_approval(step: AgentStep, agent: Agent | None) -> bool:
    """Whether one of the tools that the step offers waits for a person before it is called."""
    return any(entry.approval for entry in merge(agent.tools if agent is not None else (), step.tools))
