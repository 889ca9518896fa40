"""Entries of a step's `context`: an id, a path into a step's result, or a key of the run context."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from bot.workflows.node import describe, fault
from bot.workflows.slots import SEGMENTS_MAX

_TEXT = re.compile(
    r"[a-z][a-z0-9_]*(?:\.result(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)+)?|ctx(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)+"
)
_HINT = "write a step's id, `id.result.path`, or `ctx.key`"


@dataclass(frozen=True, slots=True)
class ContextReference:
    """What is handed over. `what` is `output` (the whole output of `step`), `result` (`path` into it) or `ctx`."""

    text: str
    what: Literal["output", "result", "ctx"]
    #: the step; empty for a key of the run context
    step: str = ""
    #: segments within the result
    path: tuple[str, ...] = ()
    #: the key of the run context
    key: str = ""

    @classmethod
    def parse(cls, text: str) -> ContextReference:
        """Read one entry of a checked file."""
        first, _, rest = text.partition(".")
        if first == "ctx" and rest:
            return cls(text, "ctx", key=rest)
        if rest:
            return cls(text, "result", first, tuple(rest.split(".")[1:]))
        return cls(text, "output", first)


def _reference(value: Any) -> str:
    if not isinstance(value, str):
        raise fault("type_mismatch", f"expected the name of a value, got {describe(value)}", _HINT)
    if "${{" in value:
        raise fault("template_slot", "a template cannot stand in `context`", _HINT)
    if not _TEXT.fullmatch(value):
        raise fault("context", f"{describe(value)} names no value", _HINT)
    if (count := value.count(".") + 1) > SEGMENTS_MAX:
        raise fault("template_depth", f"a path has at most {SEGMENTS_MAX} segments, this one {count}", "go less deep")
    return value


ReferenceText = Annotated[
    str, BeforeValidator(_reference), WithJsonSchema({"type": "string", "pattern": f"^(?:{_TEXT.pattern})$"})
]
