"""Results that the demo model makes up: they fit, and they follow the words."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from bot.runners.demo_result import made_up

NAMED = {"type": "object", "properties": {"name": {"type": "string", "minLength": 3}}, "required": ["name"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 5},
        {"type": "string", "minLength": 50},
        {"type": "integer", "exclusiveMinimum": 4},
        {"type": "number", "minimum": 0.5},
        {"type": "boolean"},
        {"type": "array", "items": NAMED, "minItems": 2},
        {"type": "array", "items": NAMED},
        {"enum": [1, None, "a"]},
        {"const": {"a": 1}},
        {"type": ["null", "string"]},
        {"anyOf": [NAMED, {"type": "null"}]},
        {"$defs": {"n": NAMED}, "type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "required": ["x"]},
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
    ],
)
def test_what_is_made_up_fits(schema: dict[str, Any]) -> None:
    """Held against the schema by another program."""
    jsonschema.validate(made_up(schema, "a few words of text"), schema)


def test_an_option_follows_the_words() -> None:
    """The one that the text has most of; without any, the first."""
    schema = {"type": "object", "properties": {"label": {"enum": ["bug", "question"]}}}
    assert made_up(schema, "I have a question about this question") == {"label": "question"}
    assert made_up(schema, "nothing of the sort") == {"label": "bug"}


def test_only_what_is_needed_is_given() -> None:
    """What is optional is left out, unless it is a choice."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    assert made_up(schema, "x") == {"b": "x"}


def test_a_schema_without_end_gives_something() -> None:
    """It is followed so far and no further."""
    schema = {"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}
    assert isinstance(made_up(schema, ""), dict)
