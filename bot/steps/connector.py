"""The kind `connector`: one tool of an MCP resource, called by the engine with typed arguments; no model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bot.errors import UserError
from bot.model.outcome import Done, Failed, Outcome
from bot.runners.mcp import open_resource
from bot.runners.mcp_content import TooLarge
from bot.steps.run import last_lines
from bot.workflows.resources import Opened
from bot.workspace import Reach, Sandbox


async def perform_connector(
    step: str,
    opened: Opened,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    sandbox: Sandbox,
    reach: Reach,
    redact: Callable[[str], str],
) -> Outcome:
    """Call the tool once; its result is what it gives, and it has no output.

    `step` is the step's id, `env` the variables of the resource's command with those of the engine filled in, `timeout`
    the step's own; the resource's holds too. Codes: `connector_failed` (with the tool's error text), `unknown_tool`,
    `resource_unavailable`, `too_large`, `timeout`. None is ever tried again by itself.
    """
    seconds = min(timeout, opened.timeout)
    limit = asyncio.timeout(seconds)
    try:
        async with (
            limit,
            open_resource(opened, env=env, cwd=cwd, sandbox=sandbox, reach=reach, redact=redact) as server,
        ):
            return Done(result=await server.call(tool, arguments))
    except TooLarge as error:
        return Failed("too_large", f"step `{step}`: {error.message}", _sentence(error.hint))
    except UserError as error:
        return Failed(error.code, error.message, _sentence(error.hint), stderr=last_lines(error.detail))
    except TimeoutError:
        if not limit.expired():
            raise
        whose = "the resource's" if opened.timeout < timeout else "its"
        message = f"`{tool}` of `{opened.name}` did not answer within {seconds:g} s"
        return Failed("timeout", message, f"Raise {whose} `timeout`; it may have done its work all the same.")


def _sentence(hint: str) -> str:
    end = "" if hint.endswith(("?", ".")) else "."
    return f"{hint[:1].upper()}{hint[1:]}{end}" if hint else ""
