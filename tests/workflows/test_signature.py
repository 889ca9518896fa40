"""The inputs of a run: parsed, bound, and refused all at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.workflows import Declared, bind
from bot.workflows.linear import pattern_fault, search

DECLARED = {
    "area": Declared(type="enum", options=("api", "web"), default="api"),
    "count": Declared(type="number", min=1, max=9, required=False),
    "dry": Declared(type="bool", default=False),
    "title": Declared(type="text", max_length=5, pattern="[a-z]+"),
}


def test_strings_become_the_declared_types() -> None:
    """And defaults stand in for what is not given; what is neither is not there."""
    bound = bind(DECLARED, {"area": "web", "count": "9", "dry": "TRUE", "title": "abc"})
    assert (bound.values, bound.violations) == ({"area": "web", "count": 9, "dry": True, "title": "abc"}, ())
    assert bind(DECLARED, {"title": "a"}).values == {"area": "api", "dry": False, "title": "a"}
    assert bind({"d": Declared(type="number", default="3")}, {}).values == {"d": 3}


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("title", None, "missing_required"),
        ("title", " \t\n", "missing_required"),
        ("title", "abcdef", "length"),
        ("title", "a1", "pattern"),
        ("title", "a\n", "pattern"),
        ("area", "apis", "enum"),
        ("count", "0", "range"),
        ("count", "0.999", "range"),
        ("count", "10", "range"),
        ("count", "ten", "type_mismatch"),
        ("count", "1e999", "type_mismatch"),
        ("count", "nan", "type_mismatch"),
        ("count", "1_0", "type_mismatch"),
        ("dry", "maybe", "type_mismatch"),
        ("tilte", "x", "unknown_input"),
    ],
)
def test_violations_have_their_class(name: str, text: str | None, kind: str) -> None:
    """Stable words, and a message that names the input."""
    given_values = {"title": "abc", **({name: text} if text is not None else {})}
    if text is None:
        del given_values[name]
    (violation,) = bind(DECLARED, given_values).violations
    assert (violation.name, violation.kind) == (name, kind)
    assert f"`{name}`" in violation.message


def test_all_violations_come_together() -> None:
    """In the order of the declaration, unknown names last with the nearest known one."""
    bound = bind(DECLARED, {"tilte": "x", "dry": "x", "count": "99", "area": "x"})
    kinds = ["enum", "range", "type_mismatch", "missing_required", "unknown_input"]
    assert [one.kind for one in bound.violations] == kinds
    assert bound.violations[-1].message == "there is no input `tilte`; did you mean `title`?"


@pytest.mark.parametrize(("text", "value"), [("1", 1), ("9", 9), ("1.5", 1.5), (" 2 ", 2), ("+3", 3), ("1e0", 1.0)])
def test_numbers(text: str, value: float) -> None:
    """Bounds are inclusive; whole numbers stay whole."""
    bound = bind(DECLARED, {"title": "a", "count": text})
    assert bound.values["count"] == value
    assert type(bound.values["count"]) is type(value)


def test_white_space_takes_the_default() -> None:
    """It alone is missing; around a text it is the text's."""
    assert bind(DECLARED, {"title": "a", "area": "  "}).values["area"] == "api"
    assert bind({"t": Declared(type="text")}, {"t": " a "}).values == {"t": " a "}


@given(st.dictionaries(st.sampled_from([*DECLARED, "other"]), st.text(max_size=8)))
def test_any_words_are_bound_or_refused(given_values: dict[str, str]) -> None:
    """It never raises, and what is bound has its type."""
    bound = bind(DECLARED, given_values)
    types: dict[str, Any] = {"area": str, "count": (int, float), "dry": bool, "title": str}
    assert all(isinstance(value, types[name]) for name, value in bound.values.items())


def test_patterns_are_matched_in_linear_time() -> None:
    """RE2's syntax; no look-around, no back-references."""
    assert search("^a+$", "aaa")
    assert not search("^(a+)+$", "a" * 50_000 + "!")
    assert pattern_fault("[a-z]+") == ""
    assert "unclosed" in pattern_fault("(a")
    assert "look-around" in pattern_fault("(?=a)")
    with pytest.raises(ValueError, match="backreferences"):
        search(r"(a)\1", "aa")


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("docs/spec.md", "docs/spec.md"),
        (" ./docs//spec.md ", "docs/spec.md"),
        ("docs/Spec of May.md", "docs/Spec of May.md"),
        (
            "https://github.com/user-attachments/files/1/spec.pdf",
            "https://github.com/user-attachments/files/1/spec.pdf",
        ),
        (
            "[my spec.pdf](https://github.com/user-attachments/files/1/x.pdf)",
            "https://github.com/user-attachments/files/1/x.pdf",
        ),
        (
            "![image](https://github.com/user-attachments/assets/12-3)",
            "https://github.com/user-attachments/assets/12-3",
        ),
    ],
)
def test_a_file_is_an_attachment_or_a_path(text: str, source: str) -> None:
    """The address alone, as GitHub writes it into the text, or a path from the repository's root."""
    assert bind({"spec": Declared(type="file")}, {"spec": text}).values == {"spec": source}


@pytest.mark.parametrize(
    "text",
    ["/etc/passwd", "../x", "a/../../x", "a\\b", ".git/config", "./.git", ".", "a\nb", "x" * 1025, "ftp://a/b",
     "file:///etc/passwd", "https://a b", "https://github.com/" + "x" * 2001],
)  # fmt: skip
def test_what_is_neither_is_refused(text: str) -> None:
    """Class `file`, whatever is wrong with it."""
    (violation,) = bind({"spec": Declared(type="file")}, {"spec": text}).violations
    assert (violation.name, violation.kind) == ("spec", "file")


def test_a_secret_is_never_taken_from_a_comment() -> None:
    """Everybody can read a comment; elsewhere it is the name of a secret."""
    declared = {"key": Declared(type="secret", required=False), "other": Declared(type="secret", default="NPM_TOKEN")}
    (violation,) = bind(declared, {"key": "ABC"}, by_comment=True).violations
    assert (violation.name, violation.kind) == ("key", "unknown_input")
    assert bind(declared, {"key": "ABC"}).values == {"key": "ABC", "other": "NPM_TOKEN"}
    assert bind(declared, {}, by_comment=True).values == {"other": "NPM_TOKEN"}
    for name in ("a-b", "abc", "1A"):
        (violation,) = bind(declared, {"key": name}).violations
        assert violation.kind == "type_mismatch"
    (violation,) = bind({"key": Declared(type="secret")}, {}, by_comment=True).violations
    assert violation.kind == "missing_required"


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "text", "accept": (".csv",)},
        {"type": "file", "accept": ("csv",)},
        {"type": "file", "accept": ("*/*",)},
        {"type": "file", "default": "../x"},
        {"type": "file", "pattern": "x"},
        {"type": "secret", "default": "a b"},
    ],
)
def test_declarations_of_files_and_secrets(fields: dict[str, Any]) -> None:
    """`accept` is of files and names kinds of them; a default has to fit."""
    with pytest.raises(ValueError):
        Declared(**fields)
