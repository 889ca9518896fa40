"""How much of the run context a prompt gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.context import Ambient, Finished
from bot.context.ambient import TRUNCATE_CHARACTERS, capped, truncated
from bot.workflows import Fidelity

LONG = "word " * 200
VALUES = {
    "outcome": "success",
    "last_response": LONG,
    "response.plan": "the plan",
    "tool_stdout": "",
    "graph.goal": "Find it.",
    "mine": "own",
    "other": "not read",
}
DONE = [Finished("plan", "success", "p" * 3_000), Finished("test", "fail"), Finished("ship", "skipped")]


def shown(level: Fidelity, **more: object) -> dict[str, str]:
    """Key to text, in the order of the blocks."""
    fields: dict[str, object] = {"values": VALUES, "finished": DONE, "level": level, "reads": ("mine",), **more}
    blocks = Ambient(**fields).blocks()  # type: ignore[arg-type]  # a builder for tests
    assert {block.kind for block in blocks} <= {"context"}
    return {block.source.removeprefix("ctx."): block.text for block in blocks}


@pytest.mark.parametrize(
    ("level", "keys"),
    [
        ("full", sorted(VALUES)),
        ("summary:high", sorted([*VALUES, "summary.plan"])),
        ("summary:medium", ["graph.goal", "last_response", "mine", "outcome", "tool_stdout"]),
        ("truncate", ["graph.goal", "last_response", "mine", "outcome", "tool_stdout"]),
        ("summary:low", ["completed_summary", "graph.goal"]),
        ("compact", ["graph.goal", "outcome"]),
    ],
)
def test_the_keys_of_each_level(level: Fidelity, keys: list[str]) -> None:
    """Sorted; the step's `reads` only where the level has single keys."""
    assert list(shown(level)) == keys


def test_what_each_level_makes_of_the_values() -> None:
    """Whole, the head of each answer, the first words, or which steps are done."""
    assert shown("full")["last_response"] == LONG
    assert shown("summary:high")["summary.plan"] == "p" * 2_000 + "\n[… 1000 characters left out]"
    assert shown("truncate")["last_response"] == ("word " * 100).rstrip() + "..."
    assert shown("summary:low")["completed_summary"] == "plan: success\ntest: fail\nship: skipped\n"
    assert shown("summary:low", finished=[]) == {"graph.goal": "Find it."}


def test_a_cap_cuts_each_value_with_a_mark() -> None:
    """Head and tail stay."""
    cut = shown("full", cap=100)
    assert cut["last_response"] == "word " * 10 + "\n[… 900 of 1000 bytes cut …]\n" + "word " * 10
    assert cut["mine"] == "own"


@given(st.text(max_size=2_000))
def test_first_words_are_the_beginning(text: str) -> None:
    """Never longer than the limit and its dots, and always a beginning of the text."""
    got = truncated(text)
    if len(text) <= TRUNCATE_CHARACTERS:
        assert got == text
    else:
        assert got.endswith("...")
        assert len(got) <= TRUNCATE_CHARACTERS + 3
        assert text.startswith(got[:-3])


@given(st.text(max_size=300), st.integers(1, 100))
def test_a_capped_value_keeps_what_fits(text: str, cap: int) -> None:
    """And says so only where something is missing."""
    got = capped(text, cap)
    assert (got == text) == (len(text.encode()) <= cap)
