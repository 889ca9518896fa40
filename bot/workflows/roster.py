"""What the steps of a workflow may name: agents, workflows, resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.workflows.agent import Agent
from bot.workflows.resources import Resource
from bot.workflows.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Roster:
    """Everything of a configuration that has a name, by it."""

    agents: Mapping[str, Agent]
    workflows: Mapping[str, Workflow]
    resources: Mapping[str, Resource]
