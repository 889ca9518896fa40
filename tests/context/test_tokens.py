"""The estimate is on the high side, and about right."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.context import estimate


def test_scripts() -> None:
    """Each script by its weight."""
    assert estimate("") == 0
    assert estimate("a" * 700) == 200
    assert estimate("ж" * 700) == 350
    assert estimate("語" * 700) == 700
    assert estimate("😀" * 700) == 1400
    assert estimate("a" * 700 + "ж" * 700 + "語" * 700 + "😀" * 700) == 2650


@given(st.text(), st.text())
def test_more_text_is_no_fewer_tokens(one: str, other: str) -> None:
    """Monotone and nearly additive, lone surrogates included."""
    whole = estimate(one + other)
    assert max(estimate(one), estimate(other)) <= whole <= estimate(one) + estimate(other)
