"""Kinds that call something that is not a model: `connector`, `code`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from bot.workflows.base_step import Format, WorkingStep
from bot.workflows.command import Environment
from bot.workflows.defaults import WorkspaceMode
from bot.workflows.node import Id, Name, Node
from bot.workflows.slots import Slot
from bot.workflows.step_inputs import BodyInput


class ToolCall(Node):
    """Which tool of which resource."""

    NOUN: ClassVar[str] = "`connector`"

    resource: Name = Field(description="an MCP server of `resources`")
    tool: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="a tool that it offers")


class ConnectorStep(WorkingStep):
    """One tool of an MCP resource, called by the engine. Its result is what the tool gives; it has no output."""

    KIND: ClassVar[str] = "connector"

    connector: ToolCall = Field(description="the resource and its tool")
    inputs: Annotated[dict[str, Any], Slot.TYPED] = Field(
        default_factory=dict, description="the tool's arguments; a string that is one template keeps its type"
    )

    def _usual_workspace(self) -> WorkspaceMode:
        return "none"


class CodeStep(WorkingStep):
    """The body of a Python function in its own process. Its result is what it returns, its output what it printed."""

    KIND: ClassVar[str] = "code"
    FORMAT: ClassVar[Format] = "text"

    code: Annotated[str, Field(min_length=1)] = Field(description="statements; `return` gives the result")
    inputs: dict[Id, BodyInput] = Field(
        default_factory=dict,
        description="variables of the function: values with templates in them, or what is computed before it",
    )
    env: Annotated[Environment, Slot.ENVIRONMENT] = Field(
        default_factory=dict, description="variables of the process; nothing else is passed on"
    )
