"""JSON Schema files of results: checked at load, compiled for use. Nothing is fetched and no pattern can backtrack.

Source: https://json-schema.org/draft/2020-12/json-schema-validation
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any
from urllib.parse import unquote

from bot.workflows.document import Path
from bot.workflows.linear import pattern_fault, search
from bot.workflows.results import SchemaCheck, Violation
from bot.workflows.template import Fault

#: what cannot be had with patterns that are matched in linear time, or without fetching anything
_REFUSED = {"patternProperties": "use `additionalProperties` or `propertyNames`", "$dynamicRef": "use `$ref`"}


def schema_faults(schema: Any) -> list[tuple[Path, Fault]]:
    """What is wrong with a schema itself, each with its path in the file."""
    import jsonschema  # late: it takes a fifth of a second, and most repositories have no schema

    if not isinstance(schema, dict):
        return [((), Fault("schema", "a schema is an object", "begin it with `{`", 0))]
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        fault = Fault("schema", f"this is no JSON Schema: {error.message[:200]}", "see json-schema.org", 0)
        return [(tuple(error.absolute_path), fault)]
    except RecursionError:
        return [((), Fault("schema", "the schema is nested too deep", "nest less", 0))]
    found = list(_forbidden(schema))
    if not found:
        endless = any("without end" in one.expected for one in compile_schema(schema)({}))
        if endless:
            found.append(((), Fault("schema", "the schema refers to itself without end", "mend its `$ref`", 0)))
    return found


def _forbidden(schema: Any) -> Iterator[tuple[Path, Fault]]:
    todo: list[tuple[Any, Path]] = [(schema, ())]
    while todo:
        one, at = todo.pop()
        if isinstance(one, list):
            todo.extend((inner, (*at, index)) for index, inner in enumerate(one))
            continue
        if not isinstance(one, dict):
            continue
        for key, inner in one.items():
            here = (*at, key)
            # below `properties` keys are names, and below `enum` and its like there is no schema
            if at and at[-1] in ("properties", "$defs", "definitions"):
                todo.append((inner, here))
            elif key in ("enum", "const", "default", "examples"):
                continue
            elif key in _REFUSED:
                yield here, Fault("schema", f"`{key}` is not read here", _REFUSED[key], 0)
            elif key == "$ref" and isinstance(inner, str) and not inner.startswith("#"):
                yield here, Fault("schema", f"`{inner[:80]}` leads out of the file", "put it below `$defs`", 0)
            elif key == "$ref" and not _leads(schema, inner):
                yield here, Fault("schema", f"`{inner}` leads nowhere", "write it as `#/$defs/name`", 0)
            elif key == "$id" and at:
                yield here, Fault("schema", "`$id` is not read below the root", "remove it", 0)
            elif key == "pattern" and isinstance(inner, str) and (reason := pattern_fault(inner)):
                yield here, Fault("schema", f"`pattern` is no regular expression: {reason}", "it takes RE2's syntax", 0)
            else:
                todo.append((inner, here))


def _leads(schema: Any, reference: Any) -> bool:
    """Whether a reference within the file leads to a schema. Source: RFC 6901 for what follows the `#`."""
    value = schema
    for escaped in unquote(str(reference)[1:]).split("/")[1:]:
        segment = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and segment.isdigit() and int(segment) < len(value):
            value = value[int(segment)]
        elif isinstance(value, dict) and segment in value:
            value = value[segment]
        else:
            return False
    return isinstance(value, (dict, bool)) and str(reference)[1:2] in ("", "/")


def compile_schema(schema: Mapping[str, Any]) -> SchemaCheck:
    """What holds a value against a schema without faults."""
    import jsonschema
    import referencing

    base = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    kind: Any = jsonschema.validators.extend(base, {"pattern": _pattern})  # type: ignore[no-untyped-call] # as shipped
    # an empty registry: jsonschema's own default would fetch what a `$ref` names
    validator = kind(schema, registry=referencing.Registry())

    def check(value: Any) -> list[Violation]:
        try:
            return fit(value)
        except RecursionError:
            return [Violation("", "what a schema asks for that does not refer to itself without end")]

    def fit(value: Any) -> list[Violation]:
        errors = list(validator.iter_errors(value))
        nulls = [error for error in errors if error.instance is None and _in_object(error.absolute_path)]
        if nulls:
            # null counts as absent where the schema has no place for it
            value = deepcopy(value)
            for error in nulls:
                *owners, key = error.absolute_path
                owner = value
                for segment in owners:
                    owner = owner[segment]
                owner.pop(key, None)
            errors = list(validator.iter_errors(value))
        return [Violation(_place(error), _words(error)) for error in errors]

    return check


def _in_object(path: Any) -> bool:
    return bool(path) and isinstance(path[-1], str)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if validator.is_type(instance, "string") and not search(pattern, instance):
        yield ValidationError(f"text that matches {pattern}")


def _place(error: Any) -> str:
    path = ""
    for segment in error.absolute_path:
        path += f"[{segment}]" if isinstance(segment, int) else f"{'.' if path else ''}{segment}"
    if error.validator == "required":
        missing = next((name for name in error.validator_value if name not in error.instance), "")
        return f"{path}.{missing}" if path else str(missing)
    return path


def _words(error: Any) -> str:
    match error.validator:
        case "required":
            return "a value, got nothing"
        case "type":
            wanted = error.validator_value
            return f"the type {' or '.join(wanted) if isinstance(wanted, list) else wanted}"
        case "enum":
            return "one of " + ", ".join(f"`{option}`" for option in error.validator_value)
        case "pattern":
            return str(error.message)
        case _:
            return f"what `{error.validator}` asks for ({str(error.validator_value)[:80]})"
