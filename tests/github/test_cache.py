"""The mapping that forgets."""

from __future__ import annotations

from bot.github.cache import Bounded


def test_drops_what_was_used_longest_ago() -> None:
    """Reading counts as use."""
    kept: Bounded[str, int] = Bounded(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)


def test_weighs_entries() -> None:
    """One heavy entry pushes out several light ones, and replacing an entry frees its old weight."""
    kept: Bounded[str, str] = Bounded(10)
    for name in "abc":
        kept.put(name, name, weight=3)
    kept.put("d", "d", weight=7)
    assert len(kept) == 2
    assert kept.get("c") == "c"
    kept.put("d", "small", weight=1)
    kept.put("e", "e", weight=6)
    assert (kept.get("c"), kept.get("d"), kept.get("e")) == ("c", "small", "e")


def test_does_not_keep_what_is_heavier_than_everything() -> None:
    """It is not kept, and its weight does not stay behind."""
    kept: Bounded[str, str] = Bounded(10)
    kept.put("huge", "x", weight=11)
    assert kept.get("huge") is None
    kept.put("fits", "y", weight=10)
    assert kept.get("fits") == "y"


def test_pop_frees_the_weight() -> None:
    """A forgotten key makes room; an unknown one is no error."""
    kept: Bounded[str, str] = Bounded(2)
    kept.put("a", "a", weight=2)
    kept.pop("a")
    kept.pop("never")
    kept.put("b", "b")
    kept.put("c", "c")
    assert (kept.get("b"), kept.get("c")) == ("b", "c")
