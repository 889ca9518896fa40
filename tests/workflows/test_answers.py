"""Answers held against what a gate asks, whatever channel they came by."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import UserError
from bot.model.role import Role
from bot.workflows.answers import TEXT_MAX, Person, barred, choices, chosen, refused, spoken, taken

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


# -- who may answer

MEG = Person(12, "meg", Role.WRITE)


@pytest.mark.parametrize(
    ("who", "why"),
    [
        ({"role": "write"}, ""),
        ({"role": "maintain"}, "`r1.ok` is for a maintainer; `meg` has write"),
        ({"role": "maintain", "logins": ["MEG"]}, ""),
        ({"role": "maintain", "logins": ["ana"]}, "`r1.ok` is for `ana` or a maintainer; `meg` has write"),
        ({"logins": ["ana", "sam"]}, "`r1.ok` is for `ana` or `sam`"),
        ({"logins": ["meg"], "not_requester": True}, ""),
        ({}, ""),
    ],
)
def test_who_may_answer(who: dict[str, Any], why: str) -> None:
    """One of role and name is enough; a gate that says nothing is for writers."""
    bar = barred(who, MEG, {11})
    assert (refused(bar, who, MEG, "r1.ok", "ana", to_them=True) if bar else "") == why


def test_who_asked_may_not_answer() -> None:
    """By id, whatever the role or name, where that is said."""
    who = {"logins": ["meg"], "role": "maintain", "not_requester": True}
    assert (bar := barred(who, MEG, {12})) == "requester"
    others = "so somebody else has to answer: a maintainer other than `meg`"
    assert refused(bar, who, MEG, "r1.ok", "meg", to_them=True) == f"you asked for r1, {others}"
    assert refused(bar, who, MEG, "r1.ok", "ana", to_them=False) == f"`meg` asked for what led to r1, {others}"
    assert not barred({"role": "write"}, MEG, {12})


def test_somebody_without_any_right_here() -> None:
    """`none` lets nobody in, and no role is not enough for a gate that names none."""
    nobody = Person(12, "meg", Role.NONE)
    assert barred({"role": "none"}, nobody, ())
    assert barred({"logins": ["meg"]}, nobody, ()) == "role"
    assert not barred({"logins": ["meg"]}, Person(12, "meg", Role.READ), ())
    assert barred({}, Person(12, "meg", Role.TRIAGE), ())


# -- boxes and words


def test_what_has_a_box() -> None:
    """Options, or the values of a form's only question."""
    assert choices(OPTIONS) == ("approve", "stop")
    assert choices(form("enum", ("a", "b"))) == ("a", "b")
    assert choices(form("bool")) == ("yes", "no")
    assert choices(form("text")) == ()
    two = form("bool")["questions"] + [form("bool")["questions"][0] | {"id": "r"}]
    assert choices({"options": {}, "questions": two, "text": False}) == ()
    assert choices(WORDS) == ()


@pytest.mark.parametrize("gate", [OPTIONS, form("enum", ("a", "b")), form("bool")])
def test_every_choice_is_an_answer(gate: dict[str, Any]) -> None:
    """What has a box is taken."""
    assert all(taken(gate, chosen(gate, choice)) for choice in choices(gate))


@pytest.mark.parametrize(
    ("gate", "text", "words", "given"),
    [
        (OPTIONS, "Approve it is small", {}, {"answer": "approve", "text": "it is small"}),
        (OPTIONS, "approve: it is\nsmall", {}, {"answer": "approve", "text": "it is\nsmall"}),
        (OPTIONS, "stop", {}, {"answer": "stop", "text": ""}),
        (OPTIONS, "stopping", {}, {"answer": "stopping"}),
        (OPTIONS, "approve-all", {}, {"answer": "approve-all"}),
        (OPTIONS, "", {}, {}),
        (WORDS, "because of this", {}, {"text": "because of this"}),
        (form("number"), "7", {}, {"answers": {"q": "7"}}),
        (form("number"), "q=7", {"q": "7"}, {"answers": {"q": "7"}}),
        ({"options": {"go": "x", "go on": "y"}, "text": True}, "go on now", {}, {"answer": "go on", "text": "now"}),
        ({"options": {"go": "x"}, "text": True}, "rather not", {}, {"text": "rather not"}),
    ],
)  # fmt: skip
def test_words_as_an_answer(gate: dict[str, Any], text: str, words: dict[str, str], given: dict[str, Any]) -> None:
    """The longest option that the words begin with, a form's values, or the words themselves."""
    assert spoken(gate, text, words) == given
