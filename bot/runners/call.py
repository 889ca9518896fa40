"""What a runner is asked, and the one method that every runner has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bot.model.outcome import Outcome
from bot.runners.said import Listen
from bot.runners.tool import Tool


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may spend at most, over all its turns and fallbacks.

    `tokens` counts input and output together. `usd` binds only where the model's price is known, so `tokens` and
    `requests` are never optional. `seconds` is the time for the whole call.
    """

    tokens: int
    requests: int
    usd: float | None
    seconds: float


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Call:
    """One question to one agent: a fresh conversation without memory.

    `model` and `fallback` are `provider:name`; `argv`, `cwd`, `env` and `readable` (folders that it may read besides)
    serve the `exec` runner, whose environment is exactly `env`. `agent` is the roster's name for it, for logs and
    messages. `schema` is the JSON Schema of the result that is wanted: a model that has structured output is held to it
    (`Done.result` then holds what it gave, unchecked), any other call is as it would be without.

    `tools` are what the model may call. What they answer passes through `redact` before the model or anybody sees it.

    A call that stopped before a tool with `approval` ended in `Wait(what="approval")`; given again, to this or another
    process, with its `kept` as `resumed`, it goes on there; so does one that was faulted behind its tools. `approved`
    answers the calls that waited, by their id (see `awaiting`): True, or a refusal: False, or its reason in words.
    `limits` are again those of the whole call: what was spent before the stop counts against them, while `usage` of
    each outcome is what was spent since the last one.

    `listen` is asked before each request for what people said since; a program has no turns and never asks.
    """

    system: str
    prompt: str
    limits: Limits
    model: str = ""
    fallback: tuple[str, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    argv: tuple[str, ...] = ()
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[Path, ...] = ()
    agent: str = ""
    schema: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    redact: Callable[[str], str] = field(default=_as_it_is, repr=False)
    resumed: bytes | None = field(default=None, repr=False)
    approved: Mapping[str, bool | str] = field(default_factory=dict)
    listen: Listen | None = field(default=None, repr=False)


class Runner(Protocol):
    """Drives one kind of agent."""

    async def run(self, call: Call) -> Outcome:
        """Ask and wait for the answer. Known faults are returned, not raised; cancelling the task ends the work."""
        ...
