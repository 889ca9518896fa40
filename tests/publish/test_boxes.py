"""Boxes of a task list: which stand for options, which are ticked, and the text without their states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.publish.boxes import box, plainly, spread, ticked

PLAN = "- [x] read\n- [ ] write\n\n- [ ] approve\n- [X] stop\n\n<sub>r1</sub>"


def test_the_last_ones_are_the_options() -> None:
    """What is shown may have boxes of its own, and those are text."""
    assert ticked(PLAN, 2) == {1}
    assert ticked(PLAN, 4) == {0, 3}
    assert plainly(PLAN, 2) == PLAN.replace("[X]", "[ ]")


def test_line_ends_do_not_count() -> None:
    """GitHub sends CRLF."""
    assert ticked(PLAN.replace("\n", "\r\n"), 2) == {1}
    assert plainly(PLAN.replace("\n", "\r\n"), 2) == plainly(PLAN, 2)


@pytest.mark.parametrize("text", ["- [x]approve", "* [x] approve", "a - [x] approve", "- [y] approve", ""])
def test_what_is_no_box_of_ours(text: str) -> None:
    """Only a line as we write it."""
    assert ticked(text, 1) == frozenset()
    assert plainly(text, 1) == text


def test_no_options_no_boxes() -> None:
    """A form's text may have boxes all the same."""
    assert ticked(PLAN, 0) == frozenset()
    assert plainly(PLAN, 0) == PLAN


def test_in_parts() -> None:
    """Each part of a long text has those that stand in it; one that has none any more is answered by its last part."""
    assert spread(["- [ ] a\n- [ ] b", "- [ ] c"], 2) == [range(1), range(1, 2)]
    assert spread(["text", "- [ ] a\n- [ ] b"], 2) == [range(0), range(2)]
    assert spread(["text", "settled"], 2) == [range(0), range(2)]


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_there_and_back(states: list[bool]) -> None:
    """Ticked boxes are read as they were ticked, and taken off again."""
    plain = "\n".join(box(str(place)) for place in range(len(states)))
    text = "\n".join(
        box(str(place)).replace("[ ]", "[x]") if state else box(str(place)) for place, state in enumerate(states)
    )
    assert ticked(text, len(states)) == {place for place, state in enumerate(states) if state}
    assert plainly(text, len(states)) == plain
