"""Conditions: what they read, what they give, and what becomes of what is missing."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import UserError
from bot.workflows import Condition
from bot.workflows.cel_paths import references
from bot.workflows.template import Fault

SCOPE: dict[str, Any] = {
    "outcome": "fail",
    "ctx": {"response.plan": "x", "notes": "abc", "a": "1", "a.b": "2"},
    "steps": {"test": {"exit_code": 2, "error": None, "result": {"score": 0.5, "parts": ["p", "q"], "x-y": 1}}},
    "inputs": {"dry": False},
    "value": 0.9,
}


def parsed(text: str) -> Condition:
    condition = Condition.parse(text)
    assert condition is not None
    return condition


@pytest.mark.parametrize(
    "text",
    [
        "outcome == 'fail'",
        "!inputs.dry && steps.test.exit_code == 2",
        "ctx.response.plan == 'x'",
        "ctx['response.plan'] == 'x'",
        "'response.plan' in ctx",
        "has(ctx.response)",
        "ctx.response.exists(k, k == 'plan')",
        "ctx['a'] == '1'",
        "ctx['a.b'] == '2'",
        "ctx.notes.startsWith('a') && size(ctx.notes) == 3",
        "ctx.notes.matches('^[a-c]+$')",
        "steps.test.result.parts[1] == 'q'",
        "steps.test.result.parts.exists(p, p == 'q')",
        "steps.test.result['x-y'] == 1",
        "steps['test'].result.score < 1",
        "steps.test.error == null",
        "value >= 0.8",
        "!has(steps.test.result.none)",
        "preferred_label == 'x' || outcome == 'fail'",
        "steps.map(s, steps[s].exit_code) == [2]",
    ],
)
def test_what_holds(text: str) -> None:
    """CEL over the values of a run; keys with dots are there flat and nested."""
    truth = parsed(text).evaluate(SCOPE)
    assert truth.value, truth
    assert bool(truth)
    assert (truth.missing, truth.fault) == ((), "")


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("preferred_label == 'x'", ("preferred_label",)),
        ("preferred_label != 'x'", ("preferred_label",)),
        ("ctx.none != 'x'", ("ctx.none",)),
        ("!(ctx.none == 'x')", ("ctx.none",)),
        ("steps.plan.outcome == 'success'", ("steps.plan.outcome",)),
        ("steps.test.result.risk == 'low'", ("steps.test.result.risk",)),
        ("ctx.none == 'x' && ctx.nix == 'y'", ("ctx.none", "ctx.nix")),
        ("nobody", ("nobody",)),
        ("has(ctx.nix) || ctx.none == 'x'", ("ctx.none",)),
    ],
)
def test_what_is_missing_makes_it_false_and_is_recorded(text: str, missing: tuple[str, ...]) -> None:
    """Whichever way round it is asked."""
    truth = parsed(text).evaluate(SCOPE)
    assert not truth
    assert (truth.missing, truth.fault) == (missing, "")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("steps.test.exit_code", "it gives a number, not true or false"),
        ("outcome", "it gives text, not true or false"),
        ("outcome > 1", "No such overload"),
        ("1 / 0 == 1", "division by zero"),
        ("steps.test.result.parts[7] == 'x'", "index out of bounds: 7"),
        ("int(outcome) == 1", ""),
    ],
)
def test_what_breaks_makes_it_false(text: str, fault: str) -> None:
    """Types that do not fit are told, and never raise."""
    truth = parsed(text).evaluate(SCOPE)
    assert (truth.value, truth.missing) == (False, ())
    assert truth.fault
    assert fault in truth.fault


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("a.b.c == 'x.y'", ["a.b.c"]),
        ("a['b'].c[0].d", ["a.b.c"]),
        ("a[b.c]", ["a", "b.c"]),
        ("a.b.size() + size(c.d)", ["a.b", "c.d"]),
        ("has(a.b) && c", ["a.b", "c"]),
        ("[1].map(x, x * y.z)", ["y.z"]),
        ('"a.b" + r"c\\d" + b \n// d.e\n', ["b"]),
        ("(a.b).c", ["a.b"]),
        ("f(x).y.z", ["x"]),
        ("'''a\n.b''' + c", ["c"]),
        ("true ? a : null", ["a"]),
        ("1.5e3 + 0xff + a.b", ["a.b"]),
        ("{'k': a.b}.k", ["a.b"]),
        ('a["b\\"c"]', ["a"]),
        ("a in b", ["a", "b"]),
    ],
)
def test_paths_of_an_expression(text: str, paths: list[str]) -> None:
    """Names in text, methods, and names that a macro binds are none."""
    assert [one.name for one in references(text)[0]] == paths


def test_has_guards_its_own_path_only() -> None:
    """A miss inside `has` is an answer."""
    found, bound = references("has(a.b) && !has((c.d).e) && f(has(g.h)) && i.all(x, x > 0)")
    assert [(one.name, one.guarded) for one in found] == [
        ("a.b", True),
        ("c.d", True),
        ("g.h", True),
        ("i", False),
    ]
    assert bound == {"x"}


def test_a_fault_has_cels_caret_and_its_place() -> None:
    """Also in a later line; without a list of faults it raises."""
    faults: list[Fault] = []
    assert Condition.parse("outcome ==\n 1 +", faults) is None
    assert faults[0].code == "condition"
    assert faults[0].message.endswith("\n|  1 +\n| ....^")
    assert faults[0].offset == 15
    with pytest.raises(UserError, match="condition: this is no condition"):
        Condition.parse("outcome = 1")


def test_a_condition_has_bounds() -> None:
    """Its length, and the depth of a path."""
    with pytest.raises(UserError, match="at most 2,000"):
        Condition.parse("'" + "x" * 2000 + "' == ''")
    assert Condition.parse("a" + ".b" * 31 + " == 1") is not None
    with pytest.raises(UserError, match="at most 32 segments, this one 33"):
        Condition.parse("a" + ".b" * 32 + " == 1")


def test_only_what_is_named_is_handed_over() -> None:
    """A run with megabytes of output costs nothing; under 100 microseconds on an idle machine."""
    condition = parsed("outcome == 'fail' && steps.s3.result.a == 1 && ctx.response.plan == 'x'")
    big = {f"s{number}": {"output": "x" * 65_000, "result": {"a": 1}} for number in range(100)}
    scope = {**SCOPE, "steps": big}
    assert condition.evaluate(scope)
    begun = time.process_time()
    for _ in range(1_000):
        condition.evaluate(scope)
    assert time.process_time() - begun < 0.5  # five times the goal, for busy machines; handing all over takes 20 s


@settings(max_examples=300, deadline=None)
@given(st.text("abc .()[]{}'\"\\&|=!?:,+-1\n/hasctx", max_size=40))
def test_any_text_is_a_condition_or_a_fault(text: str) -> None:
    """Reading and evaluating never raises."""
    faults: list[Fault] = []
    condition = Condition.parse(text, faults)
    assert (condition is None) == bool(faults)
    if condition is not None:
        assert isinstance(condition.evaluate(SCOPE).value, bool)


def test_white_space_and_comments_take_no_time() -> None:
    """Neither is looked at twice, however much of it there is."""
    text = "outcome == 'x'" + " " * 900 + "//" * 200 + "\n" * 300
    begun = time.process_time()
    read, bound = references(text + " " * 100)
    assert [one.path for one in read] == [("outcome",)]
    assert bound == frozenset()
    assert time.process_time() - begun < 0.5


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("inputs.spec.size_bytes > 10", True),
        ("inputs.spec == '.bot/inputs/spec'", True),
        ("has(inputs.spec) && inputs.spec.mime == 'text/csv'", True),
        ("'spec' in inputs && inputs.spec.size_bytes == 11 && inputs.area == 'api'", True),
        ("has(inputs.spec.url)", False),
        ("has(inputs.other) && inputs.other.size_bytes > 1", False),
        ("inputs.spec.url == ''", False),
    ],
)
def test_fields_of_a_file(text: str, holds: bool) -> None:
    """They are flat keys in the scope, beside the file's path; CEL walks to them."""
    inputs = {"area": "api", "spec": ".bot/inputs/spec", "spec.size_bytes": 11, "spec.mime": "text/csv"}
    before = dict(inputs)
    assert bool(parsed(text).evaluate({"inputs": inputs})) is holds
    assert inputs == before, "the scope is nobody's to change"


def test_a_list_and_its_element() -> None:
    """Both may stand in one expression: the element is in the list already."""
    scope = {"steps": {"a": {"result": {"l": ["x", "y"]}}}}
    assert parsed("size(steps.a.result.l) == 2 && steps.a.result.l[0] == 'x'").evaluate(scope)
