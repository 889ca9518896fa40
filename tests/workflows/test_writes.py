"""The extraction cascade: its four steps, and that it takes nothing looser."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.workflows import extract
from bot.workflows.context_keys import ENGINE_KEYS, is_engine_key, is_reserved
from bot.workflows.slots import NAMESPACES
from bot.workflows.writes import find_object


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # (1) the whole
        ('{"a": 1}', {"a": 1}),
        (' \n{"a": {"b": []}} \n', {"a": {"b": []}}),
        # (2) blocks in turn
        ('x {"a": 0}\n```\nno\n```\n```json\n[1]\n```\n~~~yaml\n{"a": 1}\n~~~\n```\n{"a": 2}\n```', {"a": 1}),
        ('```\n{"a": 1}', {"a": 1}),
        # (3) the first balanced span
        ('Result: {"a": 1}.', {"a": 1}),
        ('f() { return {"a": 1}; }', {"a": 1}),
        ('{not json} {"a": "}"} {"a": 2}', {"a": "}"}),
        ('{"a": "\\"{"} tail', {"a": '"{'}),
        ('see [link](x) {"a": [1, {"b": 2}]}', {"a": [1, {"b": 2}]}),
        ('[{"a": 1}] {"a": 2}', {"a": 2}),
        ('"{\\"a\\": 1}" {"a": 2}', {"a": 2}),
        ('a stray " quote\n{"a": 2}', {"a": 2}),
        ('an open [ bracket {"a": 2}', {"a": 2}),
        # none
        ("", None),
        ("text", None),
        ('[{"a": 1}]', None),
        ('"{\\"a\\": 1}"', None),
        ('He said "use {a: 1}" and "{}".', None),
        ("{'a': 1}", None),
        ('{"a": NaN}', None),
        ('{"a": 1', None),
        ('```\n[{"a": 1}]\n```', None),
    ],
)
def test_the_object_of_a_text(text: str, expected: dict[str, Any] | None) -> None:
    """Whole, block, span; never in an array or a string."""
    assert find_object(text) == expected


def test_strings_stay_and_all_else_is_compact_json() -> None:
    """Text comes through as it is."""
    text = json.dumps({"s": 'a "b" ü\n', "n": 1.5, "l": [1, {"x": None}], "b": True, "z": None})
    assert extract(text, ["s", "n", "l", "b", "z"]).values == {
        "s": 'a "b" ü\n',
        "n": "1.5",
        "l": '[1,{"x":null}]',
        "b": "true",
        "z": "null",
    }


def test_extra_fields_are_left_out_and_warned_of() -> None:
    """They name themselves."""
    found = extract('{"a": "1", "b": 2, "c": 3}', ["a"])
    assert (found.values, found.error) == ({"a": "1"}, "")
    assert "`b`, `c`" in found.warning
    many = extract(json.dumps({"a": 1, **{f"k{n}": n for n in range(30)}}), ["a"])
    assert "and 20 more" in many.warning


def test_one_key_and_no_object_gets_the_raw_text() -> None:
    """Cut at 8 KiB with a visible mark, and warned of."""
    assert extract("plain\n", ["a"]).values == {"a": "plain\n"}
    assert "`a` got the whole text" in extract("plain", ["a"]).warning
    assert extract("x" * 8192, ["a"]).values == {"a": "x" * 8192}
    found = extract("é" * 5000, ["a"])
    assert found.values["a"] == "é" * 4096 + "\n[… 1808 bytes left out]"
    assert "1,808 bytes" in found.warning


@pytest.mark.parametrize(
    ("text", "keys", "error"),
    [
        ("plain", ["a", "b"], "there is no JSON object to take `a`, `b` from"),
        ('{"a": 1}', ["a", "b"], "the object has no `b`"),
        ('{"b": 1}', ["a"], "the object has no `a`"),
        ('[{"a": 1, "b": 2}]', ["a", "b"], "there is no JSON object to take `a`, `b` from"),
    ],
)
def test_what_fails(text: str, keys: list[str], error: str) -> None:
    """Several keys and no object, or an object without a declared key."""
    found = extract(text, keys)
    assert (found.values, found.error) == ({}, error)


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(['{"a": 1}', "}", "[", '"'])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
PROSE = st.text("ab ,.\n(:", max_size=20)


@settings(max_examples=200, deadline=None)
@given(PROSE, st.lists(VALUES, max_size=4), PROSE)
def test_it_never_takes_an_object_out_of_an_array(before: str, array: list[Any], after: str) -> None:
    """Whatever the array holds."""
    assert find_object(before + json.dumps(array) + after) is None
    assert find_object(f"{before}\n```json\n{json.dumps(array, indent=1)}\n```\n{after}") is None


@settings(max_examples=200, deadline=None)
@given(PROSE, st.text(max_size=20), VALUES, PROSE)
def test_it_never_takes_a_brace_inside_a_string(before: str, text: str, value: Any, after: str) -> None:
    """A string that holds an object is a string."""
    inner = json.dumps(text + json.dumps({"a": value}))
    assert find_object(before + inner + after) is None


@settings(max_examples=200, deadline=None)
@given(PROSE, st.dictionaries(st.text(max_size=4), VALUES, max_size=4), PROSE)
def test_it_finds_the_object_that_is_there(before: str, value: dict[str, Any], after: str) -> None:
    """In prose, and in a block, whatever its strings hold."""
    text = json.dumps(value)
    assert find_object(before + text + after) == value
    assume("`" not in text)
    assert find_object(f"{before}\n```\n{text}\n```\n{after}") == value


@settings(max_examples=200, deadline=None)
@given(st.text('{}[]"\\:,a1 \n`~', max_size=60))
def test_any_text_gives_an_object_or_none(text: str) -> None:
    """It never raises, and what it finds stands in the text."""
    found = find_object(text)
    assert found is None or isinstance(found, dict)


@pytest.mark.parametrize("text", ["{" * 300_000, "[" * 300_000, '{"a":' * 100_000 + "x" + "}" * 100_000, '"' * 300_000])
def test_a_hostile_text_takes_no_time(text: str) -> None:
    """One pass, and a bound on what is tried."""
    begun = time.process_time()
    assert find_object(text) is None
    assert time.process_time() - begun < 5


def test_reserved_keys() -> None:
    """The engine's own, and whatever begins with a namespace."""
    assert all(is_reserved(key) and is_engine_key(key) for key in ENGINE_KEYS)
    assert all(is_reserved(name) and is_reserved(f"{name}.x") for name in NAMESPACES)
    for key in ("graph.goal", "response.plan", "summary.plan", "parallel.results"):
        assert is_engine_key(key)
    for key in ("notes", "issue_summary", "my.outcome", "responses"):
        assert not is_reserved(key)
