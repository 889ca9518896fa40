"""Answers held against what a gate asks, whatever channel they came by."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import UserError
from bot.workflows.answers import TEXT_MAX, taken

OPTIONS: dict[str, Any] = {"options": {"approve": "build", "stop": "end"}, "questions": [], "text": False}
WORDS: dict[str, Any] = {"options": {}, "questions": [], "text": True}


def form(kind: str, options: tuple[str, ...] = (), required: bool = True) -> dict[str, Any]:
    """A gate with one question, `q`."""
    one = {"id": "q", "question": "Which?", "type": kind, "options": list(options), "required": required}
    return {"options": {}, "questions": [one], "text": False}


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        ("number", 7, "7"),
        ("number", "7", "7"),
        ("number", "7.0", "7"),
        ("number", " -7.5 ", "-7.5"),
        ("number", 2**70 + 1, str(2**70 + 1)),
        ("bool", True, "true"),
        ("bool", " YES", "true"),
        ("bool", "no", "false"),
        ("text", "words", '"words"'),
        ("enum", "b", '"b"'),
    ],
)
def test_values_have_their_questions_type(kind: str, given: Any, kept: str) -> None:
    """People write text; a number stays exact, and whole where it is."""
    found = taken(form(kind, ("a", "b") if kind == "enum" else ()), {"answers": {"q": given}})
    assert json.dumps(found["answers"]["q"]) == kept
    assert found["questions"] == {"q": "Which?"}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("number", True),
        ("number", "seven"),
        ("number", "nan"),
        ("number", "1e999"),
        ("number", float("inf")),
        ("number", [7]),
        ("bool", "perhaps"),
        ("bool", 1),
        ("text", 7),
        ("text", "x" * (TEXT_MAX + 1)),
        ("enum", "c"),
        ("enum", ["a"]),
    ],
)
def test_values_of_another_type(kind: str, given: Any) -> None:
    """The question is named, and what it takes."""
    with pytest.raises(UserError, match=r"gate_answer: `q` takes (a |one of `a`, `b`)"):
        taken(form(kind, ("a", "b") if kind == "enum" else ()), {"answers": {"q": given}})


@pytest.mark.parametrize("given", [{}, {"q": None}, {"q": "  "}])
def test_what_may_be_left_out(given: dict[str, Any]) -> None:
    """White space alone is no answer."""
    assert taken(form("text", required=False), {"answers": given})["answers"] == {}
    with pytest.raises(UserError, match="`q` needs an answer"):
        taken(form("text"), {"answers": given})


def test_options_and_words() -> None:
    """An option with its reason; words where they are taken."""
    assert taken(OPTIONS, {"answer": "stop", "text": " too dear "}) == {"answer": "stop", "text": "too dear"}
    assert taken(WORDS, {"text": "because"}) == {"answer": None, "text": "because"}


@pytest.mark.parametrize(
    ("asked", "answer", "message", "hint"),
    [
        (OPTIONS, {}, "there is no answer", "It takes one of `approve`, `stop`."),
        (
            OPTIONS | {"text": True},
            {"text": " "},
            "there is no answer",
            "It takes one of `approve`, `stop` or free text.",
        ),
        (OPTIONS, {"answer": "Stop"}, "`Stop` is no option", "Options: `approve`, `stop`."),
        (WORDS, {"answer": "stop", "text": "x"}, "`stop` is no option", "This gate has none."),
        (WORDS, {"answers": {"q": 1}}, "this gate asks no questions", "It takes free text."),
        (WORDS, {"text": "x" * (TEXT_MAX + 1)}, "the text has more than 16,384 characters", "Say it shorter."),
    ],
)
def test_what_is_no_answer(asked: dict[str, Any], answer: dict[str, Any], message: str, hint: str) -> None:
    """Why, and what it takes instead."""
    with pytest.raises(UserError) as caught:
        taken(asked, answer)
    assert (caught.value.code, caught.value.message, caught.value.hint) == ("gate_answer", message, hint)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=4))
def test_any_value_fits_or_is_refused(value: Any) -> None:
    """Nothing else is raised, and what is kept is JSON."""
    for kind in ("text", "number", "bool", "enum"):
        with suppress(UserError):
            found = taken(form(kind, ("a",) if kind == "enum" else ()), {"answers": {"q": value}})
            json.dumps(found, allow_nan=False)
