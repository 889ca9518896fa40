"""The budget that a request sets itself."""

from __future__ import annotations

import pytest

from bot.workflows.request import request_budget


def test_amounts() -> None:
    """Dollars with or without their sign, whole tokens, minutes; other words are nobody's."""
    budget, wrong = request_budget({"usd": "$2.50", "tokens": "5000", "minutes": "10", "base": "dev"})
    assert (budget.usd, budget.tokens, budget.minutes) == (2.5, 5000, 10)
    assert wrong == ()
    assert request_budget({})[0].usd is None


@pytest.mark.parametrize("words", [{"usd": "two"}, {"tokens": "1.5"}, {"minutes": "-1"}, {"usd": ""}, {"usd": "1e9"}])
def test_what_is_no_amount(words: dict[str, str]) -> None:
    """It is told with its class, and sets nothing."""
    budget, (wrong,) = request_budget(words)
    assert wrong.kind == "type_mismatch"
    assert (budget.usd, budget.tokens, budget.minutes) == (None, None, None)
