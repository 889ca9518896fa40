"""What a review finds: a JSON list, checked item by item, each known again by its fingerprint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bot.model.ident import digest
from bot.steps.diff import Side

_KEYS = ("path", "line", "start_line", "side", "body", "suggestion")
#: violations that are told; after them only their number
_TOLD = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say about a place. Without `line` it is about the file."""

    path: str
    body: str
    line: int | None = None
    start_line: int | None = None
    side: Side = "RIGHT"
    suggestion: str | None = None

    @property
    def fingerprint(self) -> str:
        """What stays the same when lines move: file, side, and what is said, in 32 hex digits."""
        said = " ".join(self.body.split()).casefold()
        return digest("finding", self.path, self.side, said, self.suggestion)[:32]


class Violations(ValueError):
    """A list of findings that cannot be used; each line names the index."""

    def __init__(self, lines: list[str]) -> None:
        more = len(lines) - _TOLD
        super().__init__("; ".join(lines[:_TOLD]) + (f"; and {more} more" if more > 0 else ""))
        self.lines = lines


def read_findings(value: Any) -> list[Finding]:
    """The findings of a step's `findings`: a list, or text that is the JSON of one; null is none.

    Null in a field is a field left out. Raises `Violations` naming every one of them.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise Violations(["findings: expected a list, got text that is no JSON"]) from None
    if value is None:
        return []
    if not isinstance(value, list):
        raise Violations([f"findings: expected a list, got {_kind(value)}"])
    lines: list[str] = []
    found: list[Finding] = []
    for index, item in enumerate(value):
        wrong = _wrong(item)
        lines += [f"findings[{index}]{line}" for line in wrong]
        if not wrong and not lines:
            found.append(_finding(item))
    if lines:
        raise Violations(lines)
    return found


def _finding(item: dict[str, Any]) -> Finding:
    line, start = item.get("line"), item.get("start_line")
    return Finding(
        path=item["path"].strip().removeprefix("./"),
        body=item["body"].strip(),
        line=line,
        # a range of one line is that line
        start_line=start if start != line else None,
        side=item.get("side") or "RIGHT",
        suggestion=item.get("suggestion"),
    )


def _wrong(item: Any) -> list[str]:
    if not isinstance(item, dict):
        return [f": expected an object, got {_kind(item)}"]
    lines = [f".{key}: no such field (fields are {', '.join(_KEYS)})" for key in item if key not in _KEYS]
    for key in ("path", "body"):
        value = item.get(key)
        if not isinstance(value, str):
            lines.append(f".{key}: expected text, got {_kind(value)}")
        elif not value.strip():
            lines.append(f".{key}: is empty")
    for key in ("line", "start_line"):
        value = item.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            lines.append(f".{key}: expected a line number from 1, got {_shown(value)}")
    line: Any = item.get("line")
    start: Any = item.get("start_line")
    if start is not None and line is None:
        lines.append(".start_line: means nothing without `line`")
    if _number(line) and _number(start) and start > line:
        lines.append(f".start_line: {start} lies behind `line`, {line}")
    if item.get("side") not in (None, "LEFT", "RIGHT"):
        lines.append(f".side: expected LEFT or RIGHT, got {_shown(item['side'])}")
    suggestion = item.get("suggestion")
    if suggestion is not None and not isinstance(suggestion, str):
        lines.append(f".suggestion: expected text, got {_kind(suggestion)}")
    elif suggestion is not None and (item.get("side") == "LEFT" or line is None):
        lines.append(".suggestion: only lines on the RIGHT can be replaced")
    return lines


def _number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
