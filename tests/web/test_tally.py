"""Counters and histograms of what came to an end, with labels that stay few."""

from __future__ import annotations

from bot.web.tally import MOST, OTHER, Histogram, Names, counted, word


def test_a_histogram() -> None:
    """Each bucket counts what is at most its bound."""
    made = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        made.observe(value)
    assert made.buckets == [("1.0", 2.0), ("2.0", 3.0), ("+Inf", 4.0)]
    assert made.sum == 12.0


def test_words() -> None:
    """Stable ones stay, without what follows; what others wrote does not become a label."""
    assert word("permission_missing: checks: write") == "permission_missing"
    assert [word(text) for text in ("the token ghs_1", "", "A", "x" * 41)] == [OTHER] * 4
    assert counted([("locked", 2), ("locked: by meg", 1), ("no!", 4)]) == {"locked": 3, OTHER: 4}


def test_one_too_many() -> None:
    """A repository may name as many models as it likes."""
    names = Names()
    assert [names.of(f"m{number}") for number in range(MOST)] == [f"m{number}" for number in range(MOST)]
    assert (names.of("more"), names.of("m3")) == (OTHER, "m3")
