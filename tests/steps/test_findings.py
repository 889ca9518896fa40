"""A list of findings: what is taken, and what each violation is called."""

from __future__ import annotations

from typing import Any

import pytest

from bot.steps.findings import Finding, Violations, read_findings

GOOD = {"path": "a.py", "line": 3, "body": "Say why."}


def violations(value: Any) -> list[str]:
    with pytest.raises(Violations) as caught:
        read_findings(value)
    return caught.value.lines


def test_all_fields() -> None:
    """Null in a field is a field left out; a range of one line is that line."""
    full = {"path": "./a.py", "line": 9, "start_line": 7, "side": "LEFT", "body": " x ", "suggestion": None}
    short = {**GOOD, "start_line": 3, "side": None, "suggestion": "y"}
    assert read_findings([full, short]) == [
        Finding("a.py", "x", 9, 7, "LEFT"),
        Finding("a.py", "Say why.", 3, None, "RIGHT", "y"),
    ]


def test_about_a_file() -> None:
    """Without a line."""
    assert read_findings([{"path": "a.py", "body": "x"}]) == [Finding("a.py", "x")]


@pytest.mark.parametrize("value", [None, [], "[]", "null"])
def test_none(value: Any) -> None:
    assert read_findings(value) == []


def test_a_list_as_text() -> None:
    """A model's answer is text."""
    assert read_findings('[{"path": "a.py", "line": 3, "body": "Say why."}]') == [Finding("a.py", "Say why.", 3)]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("nope", "findings: expected a list, got text that is no JSON"),
        ({"findings": []}, "findings: expected a list, got an object"),
        (3, "findings: expected a list, got a number"),
        (True, "findings: expected a list, got true or false"),
    ],
)
def test_what_is_no_list(value: Any, line: str) -> None:
    assert violations(value) == [line]


@pytest.mark.parametrize(
    ("item", "line"),
    [
        ("x", ": expected an object, got text"),
        ({**GOOD, "lines": 4}, ".lines: no such field (fields are path, line, start_line, side, body, suggestion)"),
        ({"line": 3, "body": "x"}, ".path: expected text, got nothing"),
        ({**GOOD, "path": " "}, ".path: is empty"),
        ({**GOOD, "body": ["x"]}, ".body: expected text, got a list"),
        ({**GOOD, "line": 0}, ".line: expected a line number from 1, got 0"),
        ({**GOOD, "line": "3"}, '.line: expected a line number from 1, got "3"'),
        ({**GOOD, "line": True}, ".line: expected a line number from 1, got true"),
        ({**GOOD, "start_line": 5}, ".start_line: 5 lies behind `line`, 3"),
        ({"path": "a", "body": "x", "start_line": 5}, ".start_line: means nothing without `line`"),
        ({**GOOD, "side": "right"}, '.side: expected LEFT or RIGHT, got "right"'),
        ({**GOOD, "suggestion": 5}, ".suggestion: expected text, got a number"),
        ({**GOOD, "side": "LEFT", "suggestion": "x"}, ".suggestion: only lines on the RIGHT can be replaced"),
        ({"path": "a", "body": "x", "suggestion": "x"}, ".suggestion: only lines on the RIGHT can be replaced"),
    ],
)
def test_each_violation_names_the_index(item: Any, line: str) -> None:
    """And the field."""
    assert violations([GOOD, item]) == [f"findings[1]{line}"]


def test_all_violations_are_told_together() -> None:
    """Ten of them; then their number."""
    assert violations([{"path": ""}, {"line": -1}]) == [
        "findings[0].path: is empty",
        "findings[0].body: expected text, got nothing",
        "findings[1].path: expected text, got nothing",
        "findings[1].body: expected text, got nothing",
        "findings[1].line: expected a line number from 1, got -1",
    ]
    with pytest.raises(Violations, match=r"and 2 more$"):
        read_findings(["x"] * 12)


def test_a_fingerprint_stays_when_lines_move() -> None:
    """Not when the file, the side, the words or the suggestion are others."""
    one = Finding("a.py", "Say  why.\n", 3)
    assert one.fingerprint == Finding("a.py", "say why.", 90, 88).fingerprint
    others = [
        Finding("b.py", "Say why.", 3),
        Finding("a.py", "Say how.", 3),
        Finding("a.py", "Say why.", 3, side="LEFT"),
        Finding("a.py", "Say why.", 3, suggestion="x"),
    ]
    assert len({one.fingerprint, *(other.fingerprint for other in others)}) == 5
    assert len(one.fingerprint) == 32
