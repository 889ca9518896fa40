"""Values made up from a schema: small, the same every time, and taken by the schema."""

from __future__ import annotations

from typing import Any

import pytest

from bot.workflows import Checker, ResultField
from bot.workflows.json_schemas import compile_schema
from bot.workflows.sample import sample

SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
    {"type": "object", "required": ["a"], "properties": {"a": {"enum": ["x", "y"]}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"const": {"k": 1}}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "items": {"type": "number"}}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "minItems": 3, "uniqueItems": True}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "maxItems": 1}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"prefixItems": [{"type": "string"}], "type": "array"}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "number", "minimum": 5, "maximum": 6}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "exclusiveMinimum": 5}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "number", "maximum": -1}}},
    {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}},
    },
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "minLength": 20, "maxLength": 20}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": ["null", "boolean"]}}},
    {"type": "object", "required": ["a"], "properties": {"a": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}}},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "null"}}}, {"required": ["a", "b"]}]},
    {"$ref": "#/$defs/one", "$defs": {"one": {"type": "object", "required": ["a"]}}},
    {
        "type": "object",
        "required": ["next"],
        "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
    },
    {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_value_is_one_that_the_schema_takes(schema: dict[str, Any]) -> None:
    """And always the same."""
    value = sample(schema)
    assert compile_schema(schema)(value) == []
    assert sample(schema) == value


def test_something_is_made_up_where_nothing_would_do() -> None:
    """Null says less than a value."""
    assert sample({"type": ["null", "boolean"]}) is True


def test_elements_differ() -> None:
    """So that an `each` over them can name them."""
    assert sample({"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}) == [
        {"id": "id-1"},
        {"id": "id-2"},
    ]


def test_fields_of_the_yaml_are_filled_whether_they_are_required_or_not() -> None:
    """A template that reads an optional one finds something."""
    fields = {
        "risk": ResultField(type="enum", options=("low", "high")),
        "parts": ResultField(type="array", items=ResultField(type="string")),
        "any": ResultField(type="json", required=True),
    }
    checker = Checker.of_fields(fields)
    value = sample(checker.schema)
    assert value == {"risk": "low", "parts": ["parts-1", "parts-2"], "any": "any-1"}
    assert checker.check(value) == []
