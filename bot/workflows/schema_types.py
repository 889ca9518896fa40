"""What a step's result may hold, as far as declarations say: JSON Schema to look up, types to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.workflows.base_step import WorkingStep
from bot.workflows.gate_steps import AskStep
from bot.workflows.step import ClassifyStep, PullRequestStep

_TEXT = {"type": "string"}
_PULL_REQUEST = {
    "type": "object",
    "properties": {"branch": _TEXT, "pr_url": _TEXT, "number": {"type": "integer"}, "head_sha": _TEXT},
}
#: types of a declaration → those of JSON Schema; `json` takes all
_TYPES: Mapping[str, frozenset[str]] = {
    "string": frozenset({"string"}),
    "text": frozenset({"string"}),
    "enum": frozenset({"string"}),
    "number": frozenset({"number", "integer"}),
    "boolean": frozenset({"boolean"}),
    "bool": frozenset({"boolean"}),
    "array": frozenset({"array"}),
    "object": frozenset({"object"}),
}
_FORM = {"text": "string", "number": "number", "bool": "boolean"}


def declared_schema(step: WorkingStep) -> Mapping[str, Any] | None:
    """The JSON Schema of a step's result, its own or its kind's; None where nothing is declared.

    Of a step with `each` it is that of every value, whatever its key.
    """
    found = _of_one(step)
    if found is None or step.each is None:
        return found
    return {"type": "object", "additionalProperties": found}


def _of_one(step: WorkingStep) -> Mapping[str, Any] | None:
    if step.result is not None:
        return step.result.checker.schema if step.result.ready else None
    if isinstance(step, ClassifyStep):
        label = {"type": "string", "enum": list(step.classify.labels)}
        properties = {"label": label, "confidence": {"type": "number"}, "reason": _TEXT}
        return {"type": "object", "properties": properties}
    if isinstance(step, PullRequestStep):
        return _PULL_REQUEST
    if isinstance(step, AskStep) and step.questions:
        return {"type": "object", "properties": {one.id: _question(one.type, one.options) for one in step.questions}}
    return None


def _question(kind: str, options: Sequence[str]) -> Mapping[str, Any]:
    return {"type": "string", "enum": list(options)} if kind == "enum" else {"type": _FORM[kind]}


def at(schema: Any, path: Sequence[str]) -> Mapping[str, Any] | None:
    """The part of a schema that a path leads to; None where it does not say."""
    for segment in path:
        if not isinstance(schema, Mapping):
            return None
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and segment in properties:
            schema = properties[segment]
        elif segment.isdigit() and isinstance(schema.get("items"), Mapping):
            schema = schema["items"]
        else:
            schema = schema.get("additionalProperties")
    return schema if isinstance(schema, Mapping) else None


def fits(schema: Mapping[str, Any], wanted: str) -> bool:
    """Whether a value of the schema may be of the type; `schema` may say nothing, which may be anything."""
    types = _TYPES.get(wanted)
    given = schema.get("type")
    if types is None or given is None:
        return True
    names = {given} if isinstance(given, str) else set(given) if isinstance(given, list) else set()
    return not names or bool(names & types)


def kind_of(schema: Mapping[str, Any]) -> str:
    """The type that a schema names, for a sentence."""
    given = schema.get("type")
    return " or ".join(str(one) for one in given) if isinstance(given, list) else str(given or "value")


def json_type(value: Any) -> str:
    """The type that JSON Schema has for a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"
