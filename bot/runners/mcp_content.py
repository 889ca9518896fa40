"""What a tool of an MCP server gave, as the value that a workflow works with. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bot.errors import UserError

#: bytes of JSON (UTF-8) that a tool is given, or gives back, error text included
VALUE_MAX = 8 * 1024 * 1024

WAY_OUT = "pass a name and a path that the connector reads from its own resource; there is no download URL"


class TooLarge(UserError):
    """Arguments, or what came back, are larger than `VALUE_MAX`. `size` is in bytes, at least."""

    def __init__(self, what: str, size: int) -> None:
        super().__init__("too_large", f"{what} {size:,} bytes; at most {VALUE_MAX:,} are passed on", WAY_OUT)
        self.size = size


def size_of(value: Any) -> int:
    """Bytes of the value as compact JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def bounded(what: str, value: Any) -> Any:
    """The value. Raises `TooLarge` where it is too large to be passed on; `what` ends in `has` or `is`."""
    size = size_of(value)
    if size > VALUE_MAX:
        raise TooLarge(what, size)
    return value


def value_of(structured: Any, blocks: Iterable[Mapping[str, Any]]) -> Any:
    """The structured content; without any, the text: what it says where it is JSON, else itself.

    `blocks` are the content as the protocol has it. What is no text is named by its kind and size.
    """
    if structured is not None:
        return structured
    text = text_of(blocks)
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def text_of(blocks: Iterable[Mapping[str, Any]]) -> str:
    """The text of all blocks, one below the other."""
    return "\n".join(_block(block) for block in blocks)


def _block(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "text", "text": str(text)} | {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource_link", "uri": uri}:
            return str(uri)
        case {"type": kind, "data": str(data)} | {"type": kind, "resource": {"blob": str(data)}}:
            return f"[{kind} {block.get('mimeType') or 'data'}, {len(data) * 3 // 4:,} bytes]"
    return f"[{block.get('type', 'content')}]"


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def scrubbed(value: Any, redact: Callable[[str], str]) -> Any:
    """The value with every text redacted, at any depth."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): scrubbed(each, redact) for key, each in value.items()}
    if isinstance(value, list):
        return [scrubbed(each, redact) for each in value]
    return value
