"""The steps of a workflow. The key that names the work is the kind; each kind is a class and knows its modifiers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from bot.workflows.agent_step import AgentStep, AskingStep, Classification, ClassifyStep
from bot.workflows.base_step import BaseStep, Format, WorkingStep
from bot.workflows.call_steps import CodeStep, ConnectorStep
from bot.workflows.gate_steps import AskStep, WaitStep
from bot.workflows.github_steps import NotifyStep, PullRequestStep, ReviewStep
from bot.workflows.modifiers import KINDS
from bot.workflows.nested_steps import NestedStep, UsesStep
from bot.workflows.node import Id, Node
from bot.workflows.routing_steps import Ending, EndStep, RoutingStep, SwitchStep
from bot.workflows.run_step import RunStep
from bot.workflows.step_inputs import ExecInput, StepInput


class GroupStep(NestedStep):
    """Nested steps in one frame, for `each` and `loop`. Its result and output are those of its last step."""

    KIND: ClassVar[str] = "steps"
    FORMAT: ClassVar[Format] = "markdown"

    steps: Annotated[tuple[Step, ...], Field(min_length=1)] = Field(description="in the order in which they run")


class Branches(Node):
    """Rows of steps that run side by side."""

    NOUN: ClassVar[str] = "`parallel`"

    branches: Annotated[dict[Id, Annotated[tuple[Step, ...], Field(min_length=1)]], Field(min_length=1)] = Field(
        description="by name, in the order in which their results stand"
    )
    on_error: Literal["fail", "collect"] = Field("fail", description="whether one that failed fails the step")


class ParallelStep(NestedStep):
    """Branches on isolated snapshots of the run context. Its result has a key for each, in declared order."""

    KIND: ClassVar[str] = "parallel"
    FORMAT: ClassVar[Format] = "markdown"

    parallel: Branches = Field(description="the branches")


def kinds_of(data: Any) -> list[str]:
    """The kinds that a step's keys name; exactly one in a valid step."""
    return [kind for kind in KINDS if kind in data] if isinstance(data, dict) else []


def _tag(value: Any) -> str | None:
    if isinstance(value, BaseStep):
        return f"kind:{value.kind}"
    kinds = kinds_of(value)
    return f"kind:{kinds[0]}" if len(kinds) == 1 else None


Step = Annotated[
    Annotated[AgentStep, Tag("kind:agent")]
    | Annotated[RunStep, Tag("kind:run")]
    | Annotated[CodeStep, Tag("kind:code")]
    | Annotated[AskStep, Tag("kind:ask")]
    | Annotated[ClassifyStep, Tag("kind:classify")]
    | Annotated[ReviewStep, Tag("kind:review")]
    | Annotated[NotifyStep, Tag("kind:notify")]
    | Annotated[ConnectorStep, Tag("kind:connector")]
    | Annotated[PullRequestStep, Tag("kind:pull_request")]
    | Annotated[UsesStep, Tag("kind:uses")]
    | Annotated[ParallelStep, Tag("kind:parallel")]
    | Annotated[GroupStep, Tag("kind:steps")]
    | Annotated[SwitchStep, Tag("kind:switch")]
    | Annotated[WaitStep, Tag("kind:wait")]
    | Annotated[EndStep, Tag("kind:end")],
    Discriminator(_tag, custom_error_type="step_kind", custom_error_message="not one kind"),
]
#: the same as a tuple, for `isinstance` and for asking who knows a key
STEP_TYPES: tuple[type[BaseStep], ...] = (
    *(AgentStep, RunStep, CodeStep, AskStep, ClassifyStep, ReviewStep, NotifyStep, ConnectorStep, PullRequestStep),
    *(UsesStep, ParallelStep, GroupStep, SwitchStep, WaitStep, EndStep),
)


def bodies(step: Step) -> Mapping[str, tuple[Step, ...]]:
    """The rows of steps within a step, each the body of a frame: by branch name, or under the empty name."""
    match step:
        case ParallelStep():
            return step.parallel.branches
        case GroupStep():
            return {"": step.steps}
        case _:
            return {}


def walk(steps: Iterable[Step]) -> Iterator[Step]:
    """Every step of a row and of the rows within, in the order of the file."""
    for step in steps:
        yield step
        for body in bodies(step).values():
            yield from walk(body)


__all__ = [
    "KINDS",
    "STEP_TYPES",
    "AgentStep",
    "AskStep",
    "AskingStep",
    "BaseStep",
    "Classification",
    "ClassifyStep",
    "CodeStep",
    "ConnectorStep",
    "EndStep",
    "Ending",
    "ExecInput",
    "GroupStep",
    "NestedStep",
    "NotifyStep",
    "ParallelStep",
    "PullRequestStep",
    "ReviewStep",
    "RoutingStep",
    "RunStep",
    "Step",
    "StepInput",
    "SwitchStep",
    "UsesStep",
    "WaitStep",
    "WorkingStep",
    "bodies",
    "kinds_of",
    "walk",
]
