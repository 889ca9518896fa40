"""Kinds that hold other steps or another workflow: `steps`, `parallel`, `uses`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from bot.workflows.base_step import Format, WorkingStep
from bot.workflows.defaults import WorkspaceMode
from bot.workflows.node import Id, Name, Node
from bot.workflows.slots import Slot

if TYPE_CHECKING:
    from bot.workflows.step import Step


class NestedStep(WorkingStep):
    """A step whose work is done by steps in frames of their own; it has neither workspace nor cost of its own."""

    def _usual_workspace(self) -> WorkspaceMode:
        return "none"


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


class UsesStep(NestedStep):
    """Another workflow with an empty run context. Its result is that workflow's export."""

    KIND: ClassVar[str] = "uses"
    FORMAT: ClassVar[Format] = "markdown"

    uses: Name = Field(description="a workflow of this repository")
    inputs: Annotated[dict[Id, Any], Slot.TYPED] = Field(
        default_factory=dict, description="its inputs; a string that is one template keeps its type"
    )
