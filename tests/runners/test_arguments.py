"""Arguments of tools: read as they were sent, shown without what the engine sets, held against the whole schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.runners.arguments import ArgumentCheck, Unreadable, UnusableSchema, read_arguments, told, without

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_TEXT, _JSON, max_size=5))
def test_what_was_sent_comes_through_byte_for_byte(arguments: dict[str, Any]) -> None:
    """As text (OpenAI's protocols) and as an object (Anthropic's)."""
    sent = json.dumps(arguments, ensure_ascii=False)
    assert json.dumps(read_arguments(sent), ensure_ascii=False) == sent
    assert json.dumps(read_arguments(arguments), ensure_ascii=False) == sent


def test_numbers_keep_their_kind_and_size() -> None:
    """A whole number beyond 64 bits, and a float that happens to be whole."""
    read = read_arguments('{"a": 123456789012345678901234567890, "b": 1.0, "c": -0.0, "d": true}')
    assert json.dumps(read) == '{"a": 123456789012345678901234567890, "b": 1.0, "c": -0.0, "d": true}'


@pytest.mark.parametrize("nothing", [None, "", "  ", b"", {}, "{}"])
def test_nothing_is_an_empty_object(nothing: str | bytes | dict[str, Any] | None) -> None:
    """Models send nothing at all to a tool without arguments."""
    assert read_arguments(nothing) == {}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("{", "no JSON"),
        ("[1]", "one JSON object"),
        ('"x"', "one JSON object"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e999}', "finite"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": ' + "[" * 150 + "]" * 150 + "}", "deep"),
        ("[" * 200_000, "deep"),
    ],
)
def test_what_is_no_object_says_why(raw: str, words: str) -> None:
    """Nothing is guessed: what is ambiguous or cannot be kept goes back to the model."""
    with pytest.raises(Unreadable, match=words):
        read_arguments(raw)


def test_the_schema_that_is_shown_lacks_what_the_engine_sets() -> None:
    """Wherever the object's own keys are named, and nowhere below."""
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "q": {"type": "object", "properties": {"id": {}}}},
        "required": ["id", "q"],
        "anyOf": [{"required": ["id"]}, {"properties": {"id": {}, "r": {}}, "not": {"required": ["id", "r"]}}],
        "dependentRequired": {"id": ["q"], "q": ["id", "r"]},
        "dependentSchemas": {"q": {"properties": {"id": {}, "s": {}}}},
        "additionalProperties": False,
    }
    assert without(schema, {"id"}) == {
        "type": "object",
        "properties": {"q": {"type": "object", "properties": {"id": {}}}},
        "required": ["q"],
        "anyOf": [{"required": []}, {"properties": {"r": {}}, "not": {"required": ["r"]}}],
        "dependentRequired": {"q": ["r"]},
        "dependentSchemas": {"q": {"properties": {"s": {}}}},
        "additionalProperties": False,
    }
    assert without(schema, ()) == schema


@pytest.mark.parametrize(
    ("schema", "arguments", "argument"),
    [
        ({"properties": {"a": {"type": "integer"}}}, {"a": "1"}, "a"),
        ({"required": ["a", "b"]}, {"a": 1}, "b"),
        ({"properties": {"a": {"enum": ["x"]}}}, {"a": "y"}, "a"),
        ({"properties": {"a": {"type": "string"}}}, {"a": None}, "a"),
        ({"properties": {"a": {"items": {"maximum": 3}}}}, {"a": [1, 9]}, "a"),
        ({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"minLength": 2}}}, {"a": "x"}, "a"),
        ({"properties": {"a": {"pattern": "^x+$"}}}, {"a": "y"}, "a"),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, ""),
        ({"additionalProperties": {"type": "string"}}, {"b": 1}, "b"),
        ({"patternProperties": {"^x": {"type": "string"}}}, {"xa": 1}, "xa"),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"y": 1}, ""),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, ""),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, ""),
    ],
)
def test_what_does_not_fit_names_its_argument(schema: dict[str, Any], arguments: dict[str, Any], argument: str) -> None:
    """The full language of JSON Schema, the argument known so that the engine's own are told apart."""
    (violation,) = ArgumentCheck({"type": "object", **schema}).violations(arguments)
    assert violation[0] == argument
    assert violation[1]


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": False}, {"xa": "b"}),
        # a pattern that RE2 does not read is the tool's own to check
        ({"properties": {"a": {"pattern": "^(?!x)"}}}, {"a": "x"}),
        ({"patternProperties": {"^(?!x)": {}}, "additionalProperties": False}, {"a": 1}),
        ({"properties": {"a": {"type": ["string", "null"]}}}, {"a": None}),
    ],
)
def test_what_fits_fits(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """No finding where there is nothing to find."""
    assert ArgumentCheck({"type": "object", **schema}).violations(arguments) == []


def test_a_pattern_cannot_hold_up_the_bot() -> None:
    """One that takes a backtracking engine for ever."""
    check = ArgumentCheck({"properties": {"a": {"pattern": "^(a+)+$"}}})
    assert check.violations({"a": "a" * 5000 + "!"})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"properties": {"a": {"$ref": "https://example.org/x.json"}}},
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"$ref": "#"},
    ],
)
def test_a_schema_that_cannot_be_used_is_found_at_once(schema: dict[str, Any]) -> None:
    """Nothing is fetched, and nothing is found out at the first call only."""
    with pytest.raises(UnusableSchema):
        ArgumentCheck(schema)


def test_many_violations_are_told_shortly() -> None:
    """A model mends the first ones anyway."""
    found = ArgumentCheck({"required": [f"k{n}" for n in range(9)]}).violations({})
    assert told(found).endswith("and 4 more")
