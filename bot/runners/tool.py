"""A tool that a model may call: what it is told of it, what it may do with it, and what runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.model.outcome import Intent

#: bytes of an answer that a model is given, unless the tool says otherwise
ANSWER_MAX = 128 * 1024


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool gives back. `failed`: `text` says what went wrong; the model may do something about it.

    `intents` are recorded with the step's outcome and done when it ends well, not before.
    """

    text: str
    failed: bool = False
    intents: tuple[Intent, ...] = ()


@dataclass(frozen=True, slots=True)
class Bound:
    """The value of an argument that the engine sets. `path` is what the YAML says, for messages.

    `read` gives the value of the moment at which the tool is called; None or `MISS` of `bot.workflows.paths` where
    there is none.
    """

    path: str
    read: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of one call.

    `parameters` is the JSON Schema of an object; `call` gets one that fits it. `budget` is how often it may be called
    in the step (0: no limit). Arguments named in `bound` are not shown to the model and stand over whatever it sends.
    With `approval` a person is asked before each call. `pure`: it only reads, so that a call like an earlier one may be
    answered from that. Of an answer above `max_bytes` head and tail are kept, with a mark between.

    A UserError, Transient, NotFound or Forbidden that `call` raises is told to the model; an OperatorError ends the
    step, and so does anything else.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[[dict[str, Any]], Awaitable[ToolAnswer]]
    budget: int = 0
    bound: Mapping[str, Bound] = field(default_factory=dict)
    approval: bool = False
    pure: bool = False
    max_bytes: int = ANSWER_MAX
