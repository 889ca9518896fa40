"""What kinds have in common whose work is done by other steps, and the one that names another workflow: `uses`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from bot.workflows.base_step import Format, WorkingStep
from bot.workflows.defaults import WorkspaceMode
from bot.workflows.node import Id, Name
from bot.workflows.slots import Slot


class NestedStep(WorkingStep):
    """A step whose work is done by steps in frames of their own; it has neither workspace nor cost of its own."""

    def _usual_workspace(self) -> WorkspaceMode:
        return "none"


class UsesStep(NestedStep):
    """Another workflow with an empty run context. Its result is that workflow's export."""

    KIND: ClassVar[str] = "uses"
    FORMAT: ClassVar[Format] = "markdown"

    uses: Name = Field(description="a workflow of this repository")
    inputs: Annotated[dict[Id, Any], Slot.TYPED] = Field(
        default_factory=dict, description="its inputs; a string that is one template keeps its type"
    )
