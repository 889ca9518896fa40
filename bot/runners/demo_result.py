"""A result that fits its JSON Schema, made up by rule: what the demo model gives where a result is wanted.

Of an `enum` the option is taken whose words the text has most of, else the first; texts are the text's beginning,
numbers the least allowed, lists empty unless they must not be. Only what is required is given, and what is an `enum`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

#: characters of a made-up text
_TEXT = 200
#: levels of a schema that are followed
_DEEP = 20


def made_up(schema: Mapping[str, Any], text: str) -> Any:
    """A value for `schema` from the words of `text`. The same for the same; what it cannot follow becomes null."""
    return _value(schema, schema, text, 0)


def _value(schema: Any, root: Mapping[str, Any], text: str, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEP:
        return None
    if isinstance(reference := schema.get("$ref"), str):
        return _value(_at(root, reference), root, text, depth + 1)
    if "const" in schema:
        return schema["const"]
    if isinstance(options := schema.get("enum"), list) and options:
        return _option(options, text)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(several := schema.get(key), list) and several:
            return _value(several[0], root, text, depth + 1)
    match _type(schema):
        case "object":
            return _object(schema, root, text, depth)
        case "array":
            least = schema.get("minItems", 0)
            return [_value(schema.get("items"), root, text, depth + 1) for _ in range(least if least < 100 else 0)]
        case "string":
            return _string(schema, text)
        case "integer" | "number" as kind:
            least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
            more = 1 if "exclusiveMinimum" in schema else 0
            return int(least) + more if kind == "integer" else least + more
        case "boolean":
            return False
        case _:
            return None


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], text: str, depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    needed = schema.get("required", [])
    return {
        name: _value(one, root, text, depth + 1)
        for name, one in properties.items()
        if name in needed or (isinstance(one, Mapping) and "enum" in one)
    }


def _type(schema: Mapping[str, Any]) -> str:
    given = schema.get("type")
    if isinstance(given, list):
        return next((str(one) for one in given if one != "null"), "null")
    return str(given) if given else "object" if "properties" in schema else "null"


def _option(options: Sequence[Any], text: str) -> Any:
    words = re.findall(r"\w+", text.casefold())

    def score(option: Any) -> int:
        return sum(words.count(word) for word in re.findall(r"\w+", str(option).casefold()))

    return max(options, key=score)


def _string(schema: Mapping[str, Any], text: str) -> str:
    said = " ".join(text.split())[: min(_TEXT, schema.get("maxLength", _TEXT))]
    least = schema.get("minLength", 0)
    return said if len(said) >= least else said + "-" * (least - len(said))


def _at(root: Mapping[str, Any], reference: str) -> Any:
    value: Any = root
    for segment in reference.removeprefix("#").split("/")[1:]:
        value = value.get(segment.replace("~1", "/").replace("~0", "~")) if isinstance(value, Mapping) else None
    return value
