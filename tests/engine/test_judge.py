"""What a step gave, held against what it declares."""

from __future__ import annotations

import pytest

from bot.engine.judge import judged
from bot.model.outcome import Done, Failed, Faulted, Outcome
from bot.workflows import Step
from tests.engine.test_route import steps

RISK = "result: {fields: {risk: {type: enum, options: [low, high], required: true}}}"
BLOCK = '```json threadsmith:result\n{"risk": "low"}\n```'


def step(more: str = "", kind: str = 'run: "true"') -> Step:
    """One step with these keys besides."""
    return steps(f"- id: one\n  {kind}\n  {more}\n")[0]


def agent(more: str = "") -> Step:
    """An agent's step."""
    return step(more, "agent: ask")


def test_an_agents_result_is_its_tagged_block() -> None:
    """Which is no part of what is posted."""
    got = judged(agent(RISK), Done(f"It is low.\n\n{BLOCK}\n"))
    assert got == Done("It is low.", {"risk": "low"})


def test_what_a_model_gave_natively_comes_first() -> None:
    """Its answer stays as it is."""
    assert judged(agent(RISK), Done("words", {"risk": "high"})) == Done("words", {"risk": "high"})


def test_without_a_declaration_an_answer_is_only_an_answer() -> None:
    """The block stays in it."""
    assert judged(agent(), Done(BLOCK)) == Done(BLOCK)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ('{"risk": "low"}', Done("out", {"risk": "low"})),
        (None, "result_missing: there is no result"),
        ("  \n", "result_missing: there is no result"),
        ('{"risk": "odd"}', "result_mismatch: `risk`: expected one of `low`, `high`, got `odd`"),
        ("[1]", "result_mismatch: expected an object, got a list"),
        ('{"risk": NaN}', "result_mismatch: the result is no JSON: NaN is no JSON"),
        ("[" * 100_000, "result_mismatch: the result is no JSON:"),
    ],
)
def test_a_commands_result_is_its_file(file: str | None, expected: Done | str) -> None:
    """Missing and not fitting are told apart, each with the way to hand it over."""
    got = judged(step(RISK), Done("out", exit_code=None), file)
    if isinstance(expected, str):
        assert isinstance(got, Failed)
        assert f"{got.code}: {got.message}".startswith(expected)
        assert "`$BOT_RESULT_FILE`" in got.hint
        assert got.output == "out"
    else:
        assert got == expected


def test_one_that_is_not_required_may_be_missing_but_not_wrong() -> None:
    """Present and invalid fails whatever `required` says."""
    declared = RISK.replace("result: {", "result: {required: false, ")
    assert judged(step(declared), Done("out")) == Done("out")
    wrong = judged(step(declared), Done("out"), "{}")
    assert isinstance(wrong, Failed)
    assert wrong.code == "result_mismatch"


def test_a_command_without_a_declaration_may_give_one_all_the_same() -> None:
    """What is no JSON does no harm there."""
    assert judged(step(), Done("out"), '{"a": 1}') == Done("out", {"a": 1})
    assert judged(step(), Done("out"), "{") == Done("out")


@pytest.mark.parametrize("outcome", [Failed("command_failed", "exited with 1"), Faulted("busy")])
def test_what_failed_is_not_judged(outcome: Outcome) -> None:
    """The first reason is the reason."""
    assert judged(step(RISK), outcome, "{}") == outcome


def test_writes_come_out_of_the_output() -> None:
    """Strings stay strings; what is left out is warned of; what is not there fails the step and says which key."""
    wants = step("writes: [a, b]")
    got = judged(wants, Done('so: {"a": "x", "b": [1], "c": 2}'))
    assert isinstance(got, Done)
    warning = "left out, because `writes` does not name them: `c`"
    assert got.writes == {"a": "x", "b": "[1]", "writes_warning": warning}
    failed = judged(wants, Done('{"a": 1}'))
    assert isinstance(failed, Failed)
    assert (failed.code, failed.message) == ("writes_error", "the object has no `b`")
    assert failed.writes == {"writes_error": "the object has no `b`"}


def test_writes_may_come_out_of_the_result() -> None:
    """Where the answer itself holds no object."""
    got = judged(agent(f"{RISK}\n  writes: [risk]"), Done(f"It is low.\n\n{BLOCK}"))
    assert got == Done("It is low.", {"risk": "low"}, writes={"risk": "low"})


def test_the_operator_bounds_a_result() -> None:
    """In bytes of compact JSON, of the value as of the file."""
    more = "result: {fields: {n: {type: string}}}"
    for kind, outcome, file in (
        ('run: "true"', Done(), '{"n": "xxxx"}'),
        ("code: return 1", Done(result={"n": "xxxx"}), None),
    ):
        assert isinstance(judged(step(more, kind), outcome, file, 12), Done)
        got = judged(step(more, kind), outcome, file, 11)
        assert isinstance(got, Failed)
        assert (got.code, got.message) == ("result_mismatch", "expected at most 11 bytes, got 12")
