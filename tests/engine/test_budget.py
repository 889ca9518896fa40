"""What a run may still spend."""

from __future__ import annotations

from typing import Any

import pytest

from bot.engine.budget import Spent, exceeded, left
from bot.store.tables import Attempt
from bot.workflows import Budget
from tests.rows import NOW


def attempt(**values: Any) -> Attempt:
    return Attempt(run_id="r", frame_id="f", step="s", kind="agent", number=1, started_at=NOW, **values)


PAST = [attempt(cost=0.5, input_tokens=10, output_tokens=5), attempt(cost=None, input_tokens=1), attempt(cost=0.25)]


def test_what_attempts_spent_is_added_up() -> None:
    """Of all attempts, failed ones too; an unknown price is none."""
    assert Spent.of(PAST) == Spent(0.75, 16)
    assert Spent.of([]) == Spent(0, 0)


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(), None),
        (Budget(usd=0.76, tokens=17), None),
        (Budget(usd=0.75), "its budget of $0.75 is spent ($0.75)"),
        (Budget(tokens=16), "its budget of 16 tokens is spent (16)"),
        (Budget(usd=0), "its budget of $0 is spent ($0.75)"),
        (Budget(minutes=0), None),
    ],
)
def test_a_bound_is_reached_at_the_bound(budget: Budget, words: str | None) -> None:
    """Not only beyond it."""
    assert exceeded(budget, Spent(0.75, 16)) == words


def test_what_is_left_is_never_less_than_nothing() -> None:
    """And what has no bound keeps none."""
    assert left(Budget(usd=1, tokens=20, minutes=3), Spent(0.75, 16)) == Budget(usd=0.25, tokens=4, minutes=3)
    assert left(Budget(usd=0.5, tokens=10), Spent(0.75, 16)) == Budget(usd=0.0, tokens=0)
    assert left(Budget(), Spent(0.75, 16)) == Budget()
