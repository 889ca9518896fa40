"""No text of an outcome keeps a secret, wherever in it that stands."""

from __future__ import annotations

import pytest

from bot.engine.redaction import clean
from bot.model.outcome import Done, Failed, Faulted, Outcome, Question, Wait
from bot.publish import Redactor

SECRET = "canary-0123456789"


@pytest.mark.parametrize(
    "outcome",
    [
        Done(output=SECRET),
        Done(result={"a": [{"b": f"x {SECRET}"}], SECRET: 1}),
        Done(stdout=SECRET, stderr=SECRET, writes={"key": SECRET}),
        Failed("code", SECRET, SECRET, output=SECRET, stdout=SECRET, stderr=SECRET, writes={"key": SECRET}),
        Faulted(f"the other side said {SECRET}"),
        Wait("approval", question=Question(SECRET, show=SECRET)),
    ],
)
def test_secrets_are_taken_out(outcome: Outcome) -> None:
    """Of every kind of outcome."""
    cleaned = clean(outcome, Redactor([SECRET]))
    assert SECRET in str(outcome)
    assert SECRET not in str(cleaned)


def test_all_else_stays() -> None:
    """Types, numbers and what holds no secret; what waits keeps its conversation."""
    done = Done(output="out", result={"n": 1, "yes": True, "none": None, "list": [1.5, "x"]}, exit_code=0, stdout="o")
    assert clean(done, Redactor([SECRET])) == done
    wait = Wait("approval", question=Question("q"), kept=b"bytes")
    assert clean(wait, Redactor([SECRET])) == wait
    assert clean(Wait("time"), Redactor([SECRET])) == Wait("time")
