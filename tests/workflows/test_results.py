"""Results: what fits, what does not and where, and the block that carries one."""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.workflows import Checker, ResultField, extract_tagged
from bot.workflows.json_schemas import compile_schema, schema_faults
from bot.workflows.results import Tagged

FIELDS = {
    "risk": ResultField(type="enum", options=("low", "high"), required=True),
    "components": ResultField(type="array", items=ResultField(type="string")),
    "score": ResultField(type="number"),
    "sure": ResultField(type="boolean"),
    "note": ResultField(type="string"),
    "free": ResultField(type="json"),
    "where": ResultField(
        type="object",
        fields={"file": ResultField(type="string", required=True), "free": ResultField(type="json", required=True)},
    ),
}
CHECKER = Checker.of_fields(FIELDS)


def told(value: Any, **options: Any) -> list[str]:
    return [str(one) for one in CHECKER.check(value, **options)]


@pytest.mark.parametrize(
    "value",
    [
        {"risk": "low"},
        {"risk": "high", "components": [], "score": 1, "sure": False, "note": "", "free": [None]},
        {"risk": "low", "score": 1.5, "more": {"is": ["open"]}},
        {"risk": "low", "components": None, "score": None, "sure": None, "note": None, "where": None, "free": None},
        {"risk": "low", "where": {"file": "a", "free": None, "line": 3}},
    ],
)
def test_what_fits(value: dict[str, Any]) -> None:
    """Objects are open, and null counts as absent except for `json`."""
    assert told(value) == []
    jsonschema.validate({key: one for key, one in value.items() if one is not None}, CHECKER.schema)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "expected an object, got a list"),
        (None, "expected an object, got null"),
        ("x", "expected an object, got text"),
        ({}, "`risk`: expected one of `low`, `high`, got nothing"),
        ({"risk": None}, "`risk`: expected one of `low`, `high`, got nothing"),
        ({"risk": "none"}, "`risk`: expected one of `low`, `high`, got `none`"),
        ({"risk": 1}, "`risk`: expected one of `low`, `high`, got a number"),
        ({"risk": "low", "components": "a"}, "`components`: expected a list, got text"),
        ({"risk": "low", "components": ["a", "b", 3]}, "`components[2]`: expected text, got a number"),
        ({"risk": "low", "components": [None]}, "`components[0]`: expected text, got null"),
        ({"risk": "low", "score": True}, "`score`: expected a number, got true"),
        ({"risk": "low", "score": "1"}, "`score`: expected a number, got text"),
        ({"risk": "low", "score": math.nan}, "`score`: expected a finite number"),
        ({"risk": "low", "x": [math.inf]}, "`x[0]`: expected a finite number"),
        ({"risk": "low", "sure": 0}, "`sure`: expected true or false, got a number"),
        ({"risk": "low", "where": {"free": 1}}, "`where.file`: expected text, got nothing"),
        ({"risk": "low", "where": {"file": "a"}}, "`where.free`: expected a value, got nothing"),
        ({"risk": "low", "x": {"__proto__": 1}}, "`x.__proto__`: expected no key `__proto__`"),
        ({"risk": "low", "constructor": 1}, "`constructor`: expected no key `constructor`"),
        ({"risk": "low", "x": [{"prototype": 1}]}, "`x[0].prototype`: expected no key `prototype`"),
    ],
)
def test_what_does_not_fit(value: Any, expected: str) -> None:
    """The path and what was expected there."""
    assert told(value) == [expected]


def test_all_that_does_not_fit_is_told() -> None:
    """Up to twenty places."""
    assert len(told({"sure": 1, "note": 2, "components": [1, 2]})) == 5
    assert len(told({"risk": "low", "components": [1] * 100})) == 20


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth - 1):
        value = [value]
    return {"risk": "low", "x": value}


def test_bounds_are_inclusive() -> None:
    """256 KiB by parameter, 64 levels, 10,000 keys, 10,000 elements a list."""
    assert told(nested(64)) == []
    assert "at most 64 levels" in told(nested(65))[0]
    assert "at most 64 levels" in told(nested(100_000))[0]
    keys = {"risk": "low", **{str(number): 1 for number in range(9_999)}}
    assert told(keys) == []
    assert "at most 10,000 keys" in told({**keys, "x": 1})[0]
    assert told({"risk": "low", "x": [1] * 10_000}) == []
    assert "at most 10,000 elements, got 10,001" in told({"risk": "low", "x": [1] * 10_001})[0]
    fits = {"risk": "low", "x": "é" * 10}
    size = len(json.dumps(fits, ensure_ascii=False, separators=(",", ":")).encode())
    assert told(fits, max_bytes=size) == []
    assert told(fits, max_bytes=size - 1) == [f"expected at most {size - 1} bytes, got {size}"]
    assert told({"risk": "low", "x": "y" * 262_144})[0].startswith("expected at most 262,144 bytes")


def by_schema(schema: dict[str, Any]) -> Checker:
    assert schema_faults(schema) == []
    return Checker.of_schema(schema, compile_schema(schema))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": "x"}, []),
        ({"a": "x", "b": None, "c": None}, []),
        ({"a": None}, ["`a`: expected a value, got nothing"]),
        ({}, ["`a`: expected a value, got nothing"]),
        ({"a": "X"}, ["`a`: expected text that matches ^[a-z]+$"]),
        ({"a": "x", "l": [1, {"d": "e"}]}, ["`l[1].d`: expected the type integer"]),
        ({"a": "x", "b": 3}, ["`b`: expected one of `1`, `2`"]),
        ({"a": "x", "__proto__": 1}, ["`__proto__`: expected no key `__proto__`"]),
        ([], ["expected an object, got a list"]),
    ],
)
def test_a_json_schema(value: Any, expected: list[str]) -> None:
    """The same bounds and paths; null counts as absent where the schema has no place for it."""
    schema = {
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "pattern": "^[a-z]+$"},
            "b": {"enum": [1, 2]},
            "c": {"type": ["string", "null"]},
            "l": {"items": {"properties": {"d": {"type": "integer"}}}},
        },
    }
    assert [str(one) for one in by_schema(schema).check(value)] == expected


def test_a_pattern_cannot_hold_up_the_bot() -> None:
    """It is matched in linear time."""
    checker = by_schema({"properties": {"a": {"pattern": "^(a+)+$"}}})
    assert checker.check({"a": "a" * 50_000 + "!"})


def test_a_schema_that_refers_to_itself_is_bounded_by_the_value() -> None:
    """A tree is fine; a reference without end is told where it is met."""
    tree = by_schema({"properties": {"sub": {"$ref": "#"}, "n": {"type": "number"}}})
    assert [one.path for one in tree.check({"sub": {"sub": {"n": "x"}}})] == ["sub.sub.n"]
    endless = by_schema({"properties": {"a": {"$ref": "#/properties/a"}}})
    assert "without end" in endless.check({"a": 1})[0].expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*FIELDS, "file", "__proto__"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_any_value_gives_violations_or_none(value: Any) -> None:
    """It never raises; what fits also fits the JSON Schema that models are given, nulls taken as absent."""
    found = CHECKER.check(value)
    if not found:
        assert isinstance(value, dict)
        assert value["risk"] in ("low", "high")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no block", Tagged(None, "no block")),
        ("```json threadsmith:result\n{}\n```", Tagged("{}\n", "")),
        ("Hi\n\n```json threadsmith:result\n{}\n```\nBye\n", Tagged("{}\n", "Hi\n\nBye")),
        ("~~~  json   threadsmith:result \n{}\n~~~~\nBye", Tagged("{}\n", "Bye")),
        ("```json threadsmith:result\n1\n```\nA\n```json threadsmith:result\n2\n```", None),
        ("```json threadsmith:result\n{}", Tagged(None, "```json threadsmith:result\n{}")),
        ("```json\n{}\n```", Tagged(None, "```json\n{}\n```")),
        ("```json threadsmith:results\n{}\n```", Tagged(None, "```json threadsmith:results\n{}\n```")),
        (
            "````\n```json threadsmith:result\n{}\n```\n````",
            Tagged(None, "````\n```json threadsmith:result\n{}\n```\n````"),
        ),
        ("    ```json threadsmith:result\n{}\n", Tagged(None, "    ```json threadsmith:result\n{}\n")),
        ("```json threadsmith:result\r\n{}\r\n```\r\n", Tagged("{}\r\n", "")),
    ],
)
def test_the_tagged_block(text: str, expected: Tagged | None) -> None:
    """The last closed one counts; what is quoted in another block or never closed does not."""
    found = extract_tagged(text)
    if expected is None:
        assert found == Tagged("2\n", "```json threadsmith:result\n1\n```\nA")
    else:
        assert found == expected
