"""The toolbox as pydantic-ai sees it. Imported late, like `bot.runners.sdk`."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext, ToolReturn
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from bot.runners.arguments import Unreadable, read_arguments
from bot.runners.toolbox import Toolbox, Waiting

#: pydantic-ai ends a conversation after so many faulty calls of one tool in a row; ours ends by its requests
RETRIES = 1_000_000


class _Reader:
    """Stands where pydantic-ai expects a validator: reads the arguments exactly as they were sent."""

    def __init__(self, toolbox: Toolbox, name: str) -> None:
        self._toolbox = toolbox
        self._name = name

    # named as pydantic-ai calls them
    def validate_json(self, input: str | bytes | bytearray, **_more: Any) -> dict[str, Any]:  # noqa: A002
        return self._read(bytes(input) if isinstance(input, bytearray) else input)

    def validate_python(self, input: Any, **_more: Any) -> dict[str, Any]:  # noqa: A002 # as above
        return self._read(input)

    def _read(self, raw: Any) -> dict[str, Any]:
        try:
            return read_arguments(raw)
        except Unreadable as error:
            size = len(raw.encode("utf-8", "replace")) if isinstance(raw, str) else 0
            raise ToolFailed(self._toolbox.malformed(self._name, size, str(error))) from None


class ToolboxToolset(AbstractToolset[None]):
    """Offers what the toolbox offers at each turn, and leaves every decision to it."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    @property
    def id(self) -> str | None:
        return None

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=schema,
                    # strict mode would rewrite the schema, and so what a model composes
                    strict=False,
                    # calls of one turn that do something are done one after the other, as they were asked for
                    sequential=not tool.pure,
                ),
                max_retries=RETRIES,
                args_validator=_Reader(self._toolbox, tool.name),
            )
            for tool, schema in self._toolbox.offered()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> ToolReturn[str]:
        reply = await self._toolbox.call(ctx.tool_call_id or "", name, tool_args)
        if isinstance(reply, Waiting):
            raise ApprovalRequired
        if reply.failed and not reply.then:
            raise ToolFailed(reply.text)
        return ToolReturn(reply.text, content=reply.then or None)
