"""Boxes of task lists: which there are, where they stand, and that ticking one changes nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.demo.checklist import Box, with_tick
from bot.demo.markdown import boxes, render


@pytest.mark.parametrize(
    ("text", "ticked"),
    [
        ("- [ ] a\n- [x] b\n- [X] c", [False, True, True]),
        ("* [ ] a\n+ [x] b", [False, True]),
        ("1. [ ] a\n2) [x] b", [False, True]),
        ("- [ ] a\n  - [x] b\n    1. [ ] c", [False, True, False]),
        ("- [ ] a\n\n  more\n\n- [x] b", [False, True]),
        ("> - [x] a", [True]),
        ("-\t[ ] a", [False]),
        ("- [ ] `a` **b**\n  c", [False]),
        ("- [ ]\n  a", [False]),
        ("<details>\n\n- [x] a\n\n</details>", [True]),
        ("- [x] a\n\n[x]: https://evil.example", [True]),
    ],
)
def test_boxes(text: str, ticked: list[bool]) -> None:
    """In lists of every kind, within lists, quotes and folded parts, and though a link has the same name."""
    assert [box.ticked for box in boxes(text)] == ticked
    assert render(text).count("<input") == len(ticked)


@pytest.mark.parametrize(
    "text",
    [
        "[ ] a",
        "- [ ]",
        "- [ ]a",
        "- [  ] a",
        "- [y] a",
        "- a [ ] b",
        "- [](x) a",
        "- # [ ] a",
        "- > [ ] a",
        "- a\n\n  [ ] b",
        "```\n- [ ] a\n```",
        "    - [ ] a",
        "- x\n\n      - [ ] a",
        "- ```\n  [ ] a\n  ```",
        "`- [ ] a`",
        "<!--\n- [ ] a\n-->",
        "<details>\n- [ ] a\n</details>",
        "\\- [ ] a",
        "- \\[ ] a",
    ],
)
def test_what_is_no_box(text: str) -> None:
    """Code, raw HTML, other words before it, nothing behind it."""
    assert boxes(text) == []
    assert "<input" not in render(text)


def test_one_sign_changes() -> None:
    """That of the box, whatever looks like it elsewhere; line ends stay what they are."""
    text = "```\r\n- [ ] a\r\n```\r- [ ] a\n> * [ ] [ ] a\r\n\r\n1. [x] a"
    assert with_tick(text, boxes(text)[0], True) == text.replace("\r- [ ] a", "\r- [x] a")
    assert with_tick(text, boxes(text)[1], True) == text.replace("* [ ] [", "* [x] [")
    assert with_tick(text, boxes(text)[2], False) == text.replace("1. [x]", "1. [ ]")
    assert with_tick(text, boxes(text)[2], True) == text


def test_a_box_has_a_name() -> None:
    """What stands behind it, without markup and never as markup."""
    html = render('- [x] **b** `c<d>` "e"\n  [f](https://a.example) <kbd>g</kbd>')
    assert 'aria-label="b c&lt;d&gt; &quot;e&quot; f g"' in html
    assert 'data-box="0" disabled checked' in html
    assert '<ul class="contains-task-list">' in html
    assert render("- a\n  - b\n- [ ] c").startswith('<ul class="contains-task-list">\n<li>a\n<ul>\n<li>b')
    assert render("1. [ ] a").startswith('<ol class="contains-task-list">\n<li class="task-list-item"><input')


PARTS = (
    "- ", "* ", "1. ", "> ", "  ", "    ", "\t", "[ ] ", "[x] ", "[X]", "[", "]", "x", "`", "```", "\n", "\n\n", "\r\n",
    "\r", "<details>", "\x00", "\u00a0", "\u2028", "# ", "|", "[x]: /u", "é",
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=30))
def test_any_box_can_be_ticked(parts: list[str]) -> None:
    """Each stands between brackets; ticking one leaves all others and the text as they were."""
    text = "".join(parts)
    found = boxes(text)
    assert [box.number for box in found] == list(range(len(found)))
    for box in found:
        assert text[box.at - 1] + text[box.at + 1] == "[]"
        other = with_tick(text, box, not box.ticked)
        expected = [Box(each.number, each.ticked ^ (each is box), each.at) for each in found]
        assert boxes(other) == expected
