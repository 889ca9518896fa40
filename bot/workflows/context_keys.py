"""Keys of the run context: which are the engine's, and what an author may call one of his own."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from bot.workflows.node import describe, fault
from bot.workflows.slots import NAMESPACES

#: what the engine itself writes, whatever the outcome
ENGINE_KEYS = frozenset(
    {"last_response", "episode_summary", "episode_summaries", "outcome", "preferred_label", "human_response"}
    | {"interview_answers", "tool_stdout", "tool_stderr", "writes_error", "writes_warning", "completed_summary"}
)
#: first words of keys that the engine writes: `response.plan`, `graph.goal`
ENGINE_PREFIXES = frozenset({"graph", "response", "summary", "parallel"})

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)*")
_KEY_MAX = 100


def is_engine_key(key: str) -> bool:
    """Whether the engine writes it, so that it is always known."""
    return key in ENGINE_KEYS or key.partition(".")[0] in ENGINE_PREFIXES


def is_reserved(key: str) -> bool:
    """Whether no author may write it: the engine's keys, and whatever begins with a namespace."""
    return is_engine_key(key) or key.partition(".")[0] in NAMESPACES


def _key(value: Any) -> str:
    if not isinstance(value, str):
        raise fault("type_mismatch", f"expected a key of the run context, got {describe(value)}", "put it in quotes")
    if not _KEY.fullmatch(value) or len(value) > _KEY_MAX:
        hint = f"letters, digits, `_`, `-` and dots, a letter first, at most {_KEY_MAX} characters"
        raise fault("name", f"{describe(value)} is no key of the run context", hint)
    return value


def _own(value: Any) -> str:
    key = _key(value)
    if is_reserved(key):
        first = key.partition(".")[0]
        owner = "the engine's own" if is_engine_key(key) else f"the namespace `{first}`"
        raise fault("reserved_name", f"`{key}` cannot be written: it belongs to {owner}", "choose another name")
    return key


_SCHEMA = WithJsonSchema({"type": "string", "pattern": f"^{_KEY.pattern}$"})

#: any key, to be read
ReadKey = Annotated[str, BeforeValidator(_key), _SCHEMA]
#: a key of the author's own, to be written
WrittenKey = Annotated[str, BeforeValidator(_own), _SCHEMA]
