"""The client of MCP servers: one resource, opened for one call or for one conversation of an agent.

A server that is a command lives in the sandbox, only as long as its resource is open, with its own variables and no
others. One with a URL is spoken to by the engine, so the operator's ceiling holds for its host. No call is repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bot.errors import UserError
from bot.runners.mcp_content import TooLarge, bounded, scrubbed, text_of, value_of
from bot.workflows.findings import nearest
from bot.workflows.resources import Opened
from bot.workspace import Command, Completed, Live, Reach, Sandbox

if TYPE_CHECKING:
    from mcp.client import Client

    from bot.runners.mcp_wire import Wire

HINT = "see what its server says; the call is not repeated, because it may have done something"
#: bytes of one message: a value may stand in it twice, as text and as structure, and escaped
MESSAGE_MAX = 48 * 1024 * 1024
#: characters of an error that are told in a sentence; more of it is in the detail
ERROR_CHARS = 500
DETAIL_CHARS = 8_000
#: pages and tools of a listing that are read
PAGES_MAX = 50
TOOLS_MAX = 1_000
#: seconds that a command has to end by itself once nobody talks with it any more
PATIENCE = 1.0


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as its server describes it. `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


class Server:
    """An open resource. Made by `open_resource`."""

    def __init__(self, client: Client, link: _Link) -> None:
        self._client, self._link = client, link
        self._tools: tuple[Tool, ...] | None = None

    async def tools(self) -> tuple[Tool, ...]:
        """What it offers, read once. Raises UserError `connector_failed`."""
        if self._tools is None:
            self._tools = tuple(await self._listed())
        return self._tools

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """What the tool gives: its structured content, else its text, parsed where it is JSON; secrets taken out.

        Raises UserError: `unknown_tool`, `too_large` (`TooLarge`), `connector_failed` with the tool's own error text.
        Sent once: whether a call that failed has done something cannot be known.
        """
        link = self._link
        given = await asyncio.to_thread(bounded, "what it is given has", dict(arguments))
        known = {each.name for each in await self.tools()}
        if tool not in known:
            hint = nearest(tool, known) or "it offers none"
            raise UserError("unknown_tool", f"the resource `{link.name}` has no tool `{tool}`", hint)
        try:
            # the session's own: the client's sends again what a server refused
            result = await self._client.session.call_tool(tool, given)
        except Exception as error:  # the SDK has no one root for its errors
            raise await link.fault(error) from error
        blocks = [block.model_dump(by_alias=True, mode="json") for block in result.content]
        if result.is_error:
            text = await asyncio.to_thread(bounded, "its error has", text_of(blocks))
            raise link.failed(f"`{tool}` of `{link.name}`", text or "it gave no reason")
        value = await asyncio.to_thread(bounded, "what came back has", value_of(result.structured_content, blocks))
        return await asyncio.to_thread(scrubbed, value, link.redact)

    async def _listed(self) -> list[Tool]:
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(PAGES_MAX):
            try:
                page = await self._client.list_tools(cursor=cursor)
            except Exception as error:  # as above
                raise await self._link.fault(error) from error
            found += [Tool(each.name, each.description or "", each.input_schema) for each in page.tools]
            cursor = page.next_cursor
            if not cursor or len(found) >= TOOLS_MAX:
                break
        return found[:TOOLS_MAX]


@dataclass(slots=True)
class _Link:
    """What is known of the connection, to say why it does not work. `live` is the running command, if it is one."""

    name: str
    wire: Wire
    redact: Callable[[str], str]
    live: Live | None = None

    async def fault(self, error: BaseException) -> UserError:
        """What an error of the SDK comes to."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, UserError):
            return error
        if self.wire.large:
            return TooLarge("what came back has", self.wire.large)
        told = f"the resource `{self.name}`"
        if self.wire.refused:
            return self.failed(told, self.wire.refused)
        if self.live is not None and _is_closed(error):
            return self._gone(told, await self.live.end(PATIENCE))
        return self.failed(told, str(error) or type(error).__name__)

    def _gone(self, told: str, done: Completed) -> UserError:
        if done.missing:
            return self.failed(told, f"its program `{done.missing}` was not found")
        how = "ended" if done.exit_code is None else f"ended with exit code {done.exit_code}"
        return self.failed(told, f"its command {how}", done.stderr)

    def failed(self, told: str, text: str, detail: str = "") -> UserError:
        """`connector_failed` with the first words of `text`; more of it, or of `detail`, goes below."""
        text, detail = self.redact(text), self.redact(detail)
        short = " ".join(text[: 4 * ERROR_CHARS].split())
        if len(short) > ERROR_CHARS or len(text) > 4 * ERROR_CHARS:
            short, detail = f"{short[:ERROR_CHARS]} […]", detail or text
        return UserError("connector_failed", f"{told}: {short}", HINT, detail.strip()[-DETAIL_CHARS:])


@asynccontextmanager
async def open_resource(
    opened: Opened,
    *,
    env: Mapping[str, str],
    cwd: Path,
    sandbox: Sandbox,
    reach: Reach,
    redact: Callable[[str], str],
) -> AsyncIterator[Server]:
    """Open the MCP server of a resource for as long as the block takes; a command's whole tree is dead afterwards.

    `env` are a command's variables, those of the engine filled in; `cwd` is its folder. `reach` is the operator's
    ceiling. `redact` takes secrets out of what it says. Raises UserError `connector_failed` and
    `resource_unavailable`, OperatorError where the instance cannot start processes. Set a time limit around it.
    """
    from bot.runners import mcp_wire

    link = _Link(opened.name, mcp_wire.Wire(), redact)
    _check(opened, reach)
    raised: Exception | None = None
    over = False
    async with AsyncExitStack() as stack:
        if opened.kind == "command":
            network = Reach.of(opened.hosts).under(reach)
            command = Command(opened.command, cwd, env=env, network=network)
            link.live = await stack.enter_async_context(sandbox.open(command))
            transport = mcp_wire.over_pipe(link.live, MESSAGE_MAX, link.wire)
        else:
            transport = await stack.enter_async_context(
                mcp_wire.over_http(
                    opened.address, opened.headers, seconds=opened.timeout, most=MESSAGE_MAX, wire=link.wire
                )
            )
        try:
            async with mcp_wire.client(transport) as client:
                try:
                    yield Server(client, link)
                except Exception as error:  # noqa: BLE001  # raised below: the SDK would put it into a group
                    raised = error
                over = True
        except Exception as error:  # noqa: BLE001  # the SDK has no one root for its errors
            # what goes wrong after the last answer is nobody's concern
            raised = raised if over else await link.fault(error)
        if raised is None and link.live is not None:
            await link.live.end(PATIENCE)
    if raised is not None:
        raise raised


def _check(opened: Opened, reach: Reach) -> None:
    """Whether the resource may be reached at all."""
    if opened.kind == "webhook":
        message = f"`{opened.name}` is a webhook, not an MCP server"
        raise UserError("resource_unavailable", message, "a `connector` needs a resource with `command` or `url`")
    if opened.kind == "url":
        parts = urlsplit(opened.address)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        if not reach.to(host, port):
            message = f"the resource `{opened.name}` cannot be used: the operator has not opened `{host}`"
            raise UserError("resource_unavailable", message, "the operator opens hosts by name with BOT_NETWORK")


def _is_closed(error: BaseException) -> bool:
    from mcp.shared.exceptions import MCPError
    from mcp.types import CONNECTION_CLOSED

    return not isinstance(error, MCPError) or error.code == CONNECTION_CLOSED
