"""Results: a declaration compiled once, values held against it, and the block in an answer that carries one.

Pure. A value that does not fit gives its violations, each with a path (`components[2]`) and what was expected there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.model.ident import compact
from bot.workflows.fences import blocks
from bot.workflows.findings import listing
from bot.workflows.result_fields import REFUSED_KEYS, ResultField

#: bytes of compact JSON, unless the operator says otherwise
BYTES_MAX = 256 * 1024
DEPTH_MAX = 64
KEYS_MAX = 10_000
ELEMENTS_MAX = 10_000
#: a person mends the first ones anyway
VIOLATIONS_MAX = 20

#: the info string of the block that carries a result
TAG = "json threadsmith:result"


@dataclass(frozen=True, slots=True)
class Violation:
    """One place that does not fit: `path` as `components[2].name`, empty for the whole; `expected` in words."""

    path: str
    expected: str

    def __str__(self) -> str:
        return f"`{self.path}`: expected {self.expected}" if self.path else f"expected {self.expected}"


#: holds a value, of which the limits are known to hold, against a JSON Schema
SchemaCheck = Callable[[Any], list[Violation]]


@dataclass(frozen=True, slots=True)
class Checker:
    """A compiled declaration. `fields` are known by name unless it is a JSON Schema; `schema` is always one."""

    fields: Mapping[str, ResultField]
    schema: Mapping[str, Any]
    _by_schema: SchemaCheck | None = None

    @classmethod
    def of_fields(cls, fields: Mapping[str, ResultField]) -> Checker:
        """For `fields` of the YAML, or the short form of a schema file."""
        return cls(fields, _object_schema(fields))

    @classmethod
    def of_schema(cls, schema: Mapping[str, Any], check: SchemaCheck) -> Checker:
        """For a JSON Schema that was checked itself; see `json_schemas.compile_schema`."""
        return cls({}, schema, check)

    def check(self, value: Any, *, max_bytes: int = BYTES_MAX) -> list[Violation]:
        """What of a JSON value does not fit; empty if all does. Never raises."""
        if not isinstance(value, dict):
            return [Violation("", f"an object, got {_kind(value)}")]
        found = _limits(value)
        if not found and (size := len(compact(value).encode("utf-8", "surrogatepass"))) > max_bytes:
            found = [Violation("", f"at most {max_bytes:,} bytes, got {size:,}")]
        if found:
            return found[:VIOLATIONS_MAX]
        if self._by_schema is not None:
            return self._by_schema(value)[:VIOLATIONS_MAX]
        violations: list[Violation] = []
        _object(self.fields, value, "", violations)
        return violations[:VIOLATIONS_MAX]


def _limits(value: Any) -> list[Violation]:
    """Bounds of every payload, found without recursion: the value may be deeper than Python's stack."""
    found: list[Violation] = []
    todo: list[tuple[Any, str, int]] = [(value, "", 1)]
    keys = 0
    while todo:
        one, path, depth = todo.pop()
        if isinstance(one, (dict, list)) and depth > DEPTH_MAX:
            return [Violation(path, f"at most {DEPTH_MAX} levels")]
        if isinstance(one, dict):
            keys += len(one)
            if keys > KEYS_MAX:
                return [Violation(path, f"at most {KEYS_MAX:,} keys in all")]
            for key, inner in one.items():
                if key in REFUSED_KEYS:
                    found.append(Violation(_join(path, key), f"no key `{key}`"))
                todo.append((inner, _join(path, key), depth + 1))
        elif isinstance(one, list):
            if len(one) > ELEMENTS_MAX:
                return [Violation(path, f"at most {ELEMENTS_MAX:,} elements, got {len(one):,}")]
            todo.extend((inner, f"{path}[{index}]", depth + 1) for index, inner in enumerate(one))
        elif isinstance(one, float) and not math.isfinite(one):
            found.append(Violation(path, "a finite number"))
        if len(found) >= VIOLATIONS_MAX:
            break
    return found


def _object(fields: Mapping[str, ResultField], value: Mapping[str, Any], path: str, found: list[Violation]) -> None:
    for name, field in fields.items():
        if field.type != "json" and value.get(name) is None:
            if field.required:
                found.append(Violation(_join(path, name), f"{_expected(field)}, got nothing"))
        elif name in value:
            _value(field, value[name], _join(path, name), found)
        elif field.required:
            found.append(Violation(_join(path, name), "a value, got nothing"))


def _value(field: ResultField, value: Any, path: str, found: list[Violation]) -> None:
    if not _is_type(field, value):
        got = f"`{value}`" if field.type == "enum" and isinstance(value, str) and len(value) <= 60 else _kind(value)
        found.append(Violation(path, f"{_expected(field)}, got {got}"))
    elif field.type == "object":
        _object(field.fields, value, path, found)
    elif field.type == "array" and field.items is not None:
        for index, inner in enumerate(value):
            # an element has no key that could be left out, so null is one that does not fit
            _value(field.items, inner, f"{path}[{index}]", found)
            if len(found) >= VIOLATIONS_MAX:
                return


def _is_type(field: ResultField, value: Any) -> bool:
    match field.type:
        case "string":
            return isinstance(value, str)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "enum":
            return isinstance(value, str) and value in field.options
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "json":
            return True


def _expected(field: ResultField) -> str:
    if field.type == "enum":
        return f"one of {listing(field.options)}"
    return {
        "string": "text",
        "number": "a number",
        "boolean": "true or false",
        "array": "a list",
        "object": "an object",
        "json": "a value",
    }[field.type]


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"


def _join(path: str, key: str) -> str:
    shown = key if key.replace("_", "").replace("-", "").isalnum() and len(key) <= 60 else f"[{key[:60]!r}]"
    return f"{path}{shown}" if not path or shown.startswith("[") else f"{path}.{shown}"


def _object_schema(fields: Mapping[str, ResultField]) -> dict[str, Any]:
    """The declaration as JSON Schema, for models that take one."""
    schema: dict[str, Any] = {"type": "object", "properties": {name: _schema(one) for name, one in fields.items()}}
    needed = [name for name, one in fields.items() if one.required]
    return {**schema, "required": needed} if needed else schema


def _schema(field: ResultField) -> dict[str, Any]:
    match field.type:
        case "enum":
            return {"type": "string", "enum": list(field.options)}
        case "array":
            return {"type": "array", **({"items": _schema(field.items)} if field.items is not None else {})}
        case "object":
            return _object_schema(field.fields)
        case "json":
            return {}
        case _:
            return {"type": field.type}


@dataclass(frozen=True, slots=True)
class Tagged:
    """An answer taken apart: the JSON text of its result, None without one; and the answer without that block."""

    result: str | None
    rest: str


def extract_tagged(text: str) -> Tagged:
    """The last closed fenced block tagged `json threadsmith:result`, and the text without it."""
    tagged = [block for block in blocks(text) if " ".join(block.info.split()) == TAG]
    if not tagged:
        return Tagged(None, text)
    block = tagged[-1]
    before, after = text[: block.start].rstrip("\r\n"), text[block.end :].strip("\r\n")
    return Tagged(block.text, "\n\n".join(part for part in (before, after) if part.strip()))
