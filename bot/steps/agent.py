"""The kind `agent`: a fresh conversation, told only its context; its output is the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bot.model.context import Context
from bot.model.outcome import Outcome
from bot.runners import Call, Limits, Listen, Runners, Tool
from bot.workflows import Agent


async def perform_agent(
    name: str,
    agent: Agent,
    context: Context,
    *,
    limits: Limits,
    cwd: Path,
    env: Mapping[str, str],
    runners: Runners,
    readable: tuple[Path, ...] = (),
    schema: Mapping[str, Any] | None = None,
    tools: tuple[Tool, ...] = (),
    redact: Callable[[str], str] = str,
    resumed: bytes | None = None,
    approved: Mapping[str, bool | str] | None = None,
    listen: Listen | None = None,
) -> Outcome:
    """Ask the agent. The prompt is exactly `context`; a program gets `env` and nothing else of the engine's.

    `schema` is that of the result it has to give, for models that can be held to one; `tools` are what it may call.
    `resumed`, `approved` and `listen`: see `bot.runners.Call`.
    """
    return await runners.run(
        Call(
            system=context.system,
            prompt=context.prompt,
            limits=limits,
            model=agent.model or "",
            fallback=agent.fallback,
            temperature=agent.temperature,
            max_tokens=agent.max_tokens,
            argv=agent.runner.exec if agent.runner else (),
            cwd=cwd,
            env=env,
            readable=readable,
            agent=name,
            schema=schema,
            tools=tools,
            redact=redact,
            resumed=resumed,
            approved=approved or {},
            listen=listen,
        )
    )
