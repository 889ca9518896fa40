"""Arguments of a tool call: read as they were sent, with those that the engine sets, held against the schema.

Nothing is fetched, and no pattern can backtrack: patterns are matched by RE2 (`bot.workflows.linear`), and one that it
cannot read is left to the tool itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NoReturn

from bot.model.ident import digest
from bot.workflows.linear import search

#: levels that are read; a model composes no deeper ones on purpose
DEPTH_MAX = 100
#: places that a message names
_SHOWN = 5
#: keywords of a schema whose values are schemas of the same object
_SAME_OBJECT = ("allOf", "anyOf", "oneOf", "if", "then", "else", "not")


class Unreadable(ValueError):
    """What was sent is no JSON object; the message says why, for the model."""


class UnusableSchema(ValueError):
    """The schema of a tool is no JSON Schema that can be used; the message says why."""


def read_arguments(raw: str | bytes | Mapping[str, Any] | None) -> dict[str, Any]:
    """The object that a model sent, its values as they are; nothing at all is an empty one. Raises Unreadable."""
    value = _parsed(raw) if isinstance(raw, (str, bytes)) else raw or {}
    if not isinstance(value, Mapping):
        raise Unreadable("the arguments have to be one JSON object")
    given = dict(value)
    if not _within_depth(given):
        raise Unreadable(f"the arguments are nested more than {DEPTH_MAX} levels deep")
    try:
        json.dumps(given, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise Unreadable("the arguments hold half of a surrogate pair, which is no text") from None
    except ValueError:
        raise Unreadable("the arguments hold a number that is not finite") from None
    return given


def _parsed(raw: str | bytes) -> Any:
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    if not text.strip():
        return {}
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unambiguous)
    except RecursionError:
        raise Unreadable("the arguments are nested too deep") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"the arguments are no JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise Unreadable(f"`{name}` is no number of JSON")


def _unambiguous(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise Unreadable(f"the key `{key}` stands twice")
        out[key] = value
    return out


def _within_depth(value: Any) -> bool:
    """Without recursion: the value may be deeper than Python's stack."""
    todo: list[tuple[Any, int]] = [(value, 1)]
    while todo:
        one, depth = todo.pop()
        if depth > DEPTH_MAX:
            return False
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        todo.extend((each, depth + 1) for each in inner)
    return True


def canonical(arguments: Mapping[str, Any]) -> str:
    """Compact JSON with sorted keys: equal for calls that are alike."""
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def arguments_digest(arguments: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of `canonical`."""
    return digest(canonical(arguments))


def without(schema: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The schema without arguments that the engine sets; everything else stays as it is."""
    if not names:
        return dict(schema)
    out = dict(schema)
    if isinstance(out.get("properties"), Mapping):
        out["properties"] = {name: inner for name, inner in out["properties"].items() if name not in names}
    if isinstance(out.get("required"), list):
        out["required"] = [name for name in out["required"] if name not in names]
    for key in ("dependentRequired", "dependentSchemas", "dependencies"):
        if isinstance(out.get(key), Mapping):
            out[key] = {name: _dependent(inner, names) for name, inner in out[key].items() if name not in names}
    for key in _SAME_OBJECT:
        inner = out.get(key)
        if isinstance(inner, list):
            out[key] = [without(one, names) if isinstance(one, Mapping) else one for one in inner]
        elif isinstance(inner, Mapping):
            out[key] = without(inner, names)
    return out


def _dependent(inner: Any, names: Collection[str]) -> Any:
    if isinstance(inner, list):
        return [name for name in inner if name not in names]
    return without(inner, names) if isinstance(inner, Mapping) else inner


class ArgumentCheck:
    """Holds arguments against a JSON Schema of an object. Raises UnusableSchema where it is none."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema  # late: it takes a fifth of a second, and most calls have no tools
        import referencing.exceptions
        from referencing.jsonschema import DRAFT202012

        base = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        try:
            base.check_schema(dict(schema))
        except jsonschema.SchemaError as error:
            raise UnusableSchema(f"it is no JSON Schema: {error.message[:200]}") from None
        except RecursionError:
            raise UnusableSchema("it is nested too deep") from None
        own = {"pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": _additional}
        kind: Any = jsonschema.validators.extend(base, own)  # type: ignore[no-untyped-call] # as shipped
        # an empty registry: jsonschema's own default would fetch what a `$ref` names
        registry: referencing.Registry[Any] = referencing.Registry()
        self._validator = kind(schema, registry=registry)
        resource = referencing.Resource.from_contents(dict(schema), default_specification=DRAFT202012)
        resolver = registry.resolver_with_root(resource)
        for reference in _references(schema):
            try:
                resolver.lookup(reference)
            except referencing.exceptions.Unresolvable:
                raise UnusableSchema(f"its `$ref` to `{reference[:80]}` leads nowhere in it") from None
        self.violations({})  # one that refers to itself without end is found before any call

    def violations(self, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
        """What does not fit: each with the argument that it lies in (empty: the object itself) and words for it."""
        from referencing.exceptions import Unresolvable

        try:
            return [(_argument(error), _words(error)) for error in self._validator.iter_errors(dict(arguments))]
        except Unresolvable as error:
            raise UnusableSchema(f"a `$ref` of it leads nowhere: {str(error)[:200]}") from None
        except RecursionError:
            raise UnusableSchema("it refers to itself without end") from None


def told(violations: list[tuple[str, str]]) -> str:
    """The violations as a sentence for the model."""
    shown = [words for _, words in violations[:_SHOWN]]
    more = len(violations) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)


def _references(schema: Any) -> Iterator[str]:
    todo: list[Any] = [schema]
    while todo:
        one = todo.pop()
        if isinstance(one, Mapping):
            if isinstance(reference := one.get("$ref"), str):
                yield reference
            todo.extend(inner for key, inner in one.items() if key not in ("enum", "const", "default", "examples"))
        elif isinstance(one, list):
            todo.extend(one)


def _argument(error: Any) -> str:
    path = list(error.absolute_path)
    if path:
        return str(path[0])
    if error.validator == "required":
        return str(next((name for name in error.validator_value if name not in error.instance), ""))
    return ""


def _words(error: Any) -> str:
    place = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" if at else str(part)
        for at, part in enumerate(error.absolute_path)
    )
    message = str(error.message)
    message = message if len(message) <= 300 else f"{message[:300]} […]"
    return f"`{place}`: {message}" if place else message


def _search(pattern: str, text: str) -> bool | None:
    try:
        return search(pattern, text)
    except ValueError:
        return None


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if validator.is_type(instance, "string") and _search(pattern, instance) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, inner in patterns.items():
        for key, value in instance.items():
            if _search(pattern, key):
                yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not validator.is_type(instance, "object"):
        return
    patterns = schema.get("patternProperties", {})
    named = schema.get("properties", {})
    # a pattern that cannot be read may fit anything
    extras = [
        key for key in instance if key not in named and not any(_search(one, key) in (True, None) for one in patterns)
    ]
    if validator.is_type(rule, "object"):
        for extra in extras:
            yield from validator.descend(instance[extra], rule, path=extra)
    elif rule is False and extras:
        yield ValidationError(f"there is no {', '.join(f'`{extra}`' for extra in extras)} here")
