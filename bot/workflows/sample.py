"""Values made up from a JSON Schema: what a step might give, for walks in which nothing is called. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

#: elements of a list that says nothing about its length: one would hide what happens between two
ELEMENTS = 2
#: a schema that refers to itself ends here
_DEPTH = 12


Choose = Callable[[Sequence[Any]], Any]


def sample(schema: Mapping[str, Any], name: str = "value") -> Any:
    """A small value that the schema takes: the first option, every property, two elements.

    The same schema always gives the same value. Text is `name` with a number, so that two elements differ. What cannot
    be made up (a `pattern`, a `not`) is left as it comes, so that whoever needs it to fit has to check it.
    """
    return _Sampler(schema).value(schema, name, 1, 0)


def least(schema: Mapping[str, Any], text: str, choose: Choose) -> Any:
    """The least that the schema takes: what is needed and what is a choice, no element more than it must have.

    Every text is `text`, cut to what fits; `choose` takes one of several options.
    """
    return _Sampler(schema, text, choose).value(schema, "", 1, 0)


class _Sampler:
    """`text` and `choose` are there where the least is wanted."""

    def __init__(self, root: Mapping[str, Any], text: str | None = None, choose: Choose | None = None) -> None:
        self._root, self._words, self._choose = root, text, choose

    def value(self, schema: Any, name: str, turn: int, depth: int) -> Any:
        """`turn` counts from 1 and tells elements of one list apart."""
        schema = self._resolved(schema, depth)
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        for key in ("enum", "examples"):
            if isinstance(schema.get(key), list) and schema[key]:
                return self._choose(schema[key]) if self._choose else schema[key][(turn - 1) % len(schema[key])]
        for key in ("oneOf", "anyOf"):
            if isinstance(schema.get(key), list) and schema[key]:
                rest = {own: value for own, value in schema.items() if own != key}
                return self.value(_joined([rest, self._resolved(schema[key][0], depth)]), name, turn, depth + 1)
        match _type(schema):
            case "object":
                return self._object(schema, turn, depth)
            case "array":
                return self._array(schema, name, depth)
            case "boolean":
                return self._choose is None
            case "number" | "integer" as kind:
                return _number(schema, turn if self._choose is None else 0, whole=kind == "integer")
            case "null":
                return None
            case _:
                return _text(schema, f"{name}-{turn}" if self._words is None else self._words)

    def _object(self, schema: Mapping[str, Any], turn: int, depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        known: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
        needed = schema.get("required", [])
        # deep down only what is needed, else a schema that refers to itself would never end
        every = self._choose is None and depth < _DEPTH // 2
        names = [name for name in known if every or name in needed or (self._choose and _is_choice(known[name]))]
        names += [name for name in needed if name not in known]
        return {name: self.value(known.get(name, {}), name, turn, depth + 1) for name in names if depth < _DEPTH}

    def _array(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", ELEMENTS) if self._choose is None else 0
        first = schema.get("prefixItems")
        if isinstance(first, list):
            return [self.value(one, name, place, depth + 1) for place, one in enumerate(first, 1)]
        count = 0 if depth >= _DEPTH else max(least, min(ELEMENTS, most))
        return [self.value(schema.get("items", {}), name, turn, depth + 1) for turn in range(1, count + 1)]

    def _resolved(self, schema: Any, depth: int) -> Mapping[str, Any]:
        """The schema with what it refers to and all of `allOf` in it."""
        if not isinstance(schema, Mapping) or depth > _DEPTH:
            return {}
        parts: list[Mapping[str, Any]] = [{key: value for key, value in schema.items() if key not in ("$ref", "allOf")}]
        if isinstance(schema.get("$ref"), str):
            parts.insert(0, self._resolved(self._at(schema["$ref"]), depth + 1))
        parts += [self._resolved(one, depth + 1) for one in schema.get("allOf", ())]
        return _joined(parts)

    def _at(self, reference: str) -> Any:
        """What a reference within the file leads to. Source: RFC 6901 for what follows the `#`."""
        value: Any = self._root
        for escaped in unquote(reference[1:]).split("/")[1:]:
            segment = escaped.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Sequence) and segment.isdigit() and int(segment) < len(value):
                value = value[int(segment)]
            else:
                value = value.get(segment, {}) if isinstance(value, Mapping) else {}
        return value


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several schemas that all hold, as one: properties and needed names are put together, the last one wins else."""
    joined: dict[str, Any] = {}
    for part in parts:
        properties = {**joined.get("properties", {}), **part.get("properties", {})}
        needed = [*joined.get("required", []), *part.get("required", [])]
        joined |= part
        joined |= {"properties": properties} if properties else {}
        joined |= {"required": list(dict.fromkeys(needed))} if needed else {}
    return joined


def _is_choice(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "enum" in schema


def _type(schema: Mapping[str, Any]) -> str:
    given = schema.get("type")
    if isinstance(given, list):
        return next((str(one) for one in given if one != "null"), "null")
    if given is None:
        return "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(given)


def _number(schema: Mapping[str, Any], turn: int, *, whole: bool) -> int | float:
    least: Any = schema.get("minimum", schema.get("exclusiveMinimum"))
    most: Any = schema.get("maximum", schema.get("exclusiveMaximum"))
    value: int | float = turn if least is None else least
    if least is None and most is not None and most < value:
        value = most
    if schema.get("exclusiveMinimum") == value:
        value = value + 1 if whole or most is None else (value + most) / 2
    if schema.get("exclusiveMaximum") == value:
        value = value - 1
    return value


def _text(schema: Mapping[str, Any], text: str) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    return text.ljust(least, ".")[:most]
