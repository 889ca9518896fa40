"""Parts stand alone, fit, and lose nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.publish.split import BYTES, CHARACTERS, RESERVE, Part, closing, split


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable("table").parse(text)


def parts(text: str, size: int, max_parts: int = 999, rest: str = "") -> tuple[Part, ...]:
    """Split with room for `size` characters."""
    return split(text, characters=size + RESERVE, max_parts=max_parts, rest=rest)


def stands_alone(body: str) -> bool:
    """A footer behind it is a paragraph of its own, and no `<details>` is open."""
    found = tokens(f"{body}\n\nFOOTER")
    raw = "".join(
        piece.content
        for token in found
        for piece in (token, *(token.children or []))
        if piece.type in ("html_block", "html_inline")
    )
    return found[-2].content == "FOOTER" and len(re.findall("<details", raw)) <= len(re.findall("</details>", raw))


def fences(text: str) -> list[tuple[str, str]]:
    """Language and content of each fence."""
    return [(token.info, token.content) for token in tokens(text) if token.type == "fence"]


def test_a_short_text_is_one_part() -> None:
    """Nothing is added to what fits and is whole."""
    assert split("hello\n\n- a\n") == (Part("hello\n\n- a\n"),)
    assert split("") == (Part(""),)


def test_what_is_left_open_is_closed() -> None:
    """So that a footer is not swallowed."""
    assert closing("```py\nx") == "\n```"
    assert closing("~~~~\nx\n~~~") == "\n~~~~"
    assert closing("<details><summary>a</summary>\n\nx") == "\n\n</details>"
    assert closing("<details>\n\n```\nx") == "\n```\n\n</details>"
    assert closing("<!-- x") == "\n-->"
    assert closing("<pre>\nx\n\ny") == "\n</pre>"
    assert closing("- a\n  ```\n  x") == ""
    assert closing("`<details>` and\n\n    <details>") == ""
    assert closing("</details>\n\n<details></details>") == ""


def test_cuts_at_blocks() -> None:
    """Between paragraphs, before a list item rather than inside one, never far too early."""
    text = "\n\n".join(f"paragraph {number} " + "word " * 8 for number in range(30))
    for part in parts(text, 400)[:-1]:
        assert part.text.endswith("\n\n")
        assert len(part.text) > 200
    items = "".join(f"- item {number}\n  more of it\n" for number in range(60))
    assert all(part.text.startswith("- item") for part in parts(items, 300))


def test_a_fence_is_closed_and_opened_again() -> None:
    """With its language; the code is the same when put together."""
    code = "".join(f"line {number}\n" for number in range(200))
    split_up = parts(f"Look:\n\n````python title\n{code}````\n\nend", 500)
    assert len(split_up) > 3
    found = [fence for part in split_up for fence in fences(part.body)]
    assert {language.split()[0] for language, _ in found} == {"python"}
    assert "".join(content for _, content in found) == code


@pytest.mark.parametrize(("outer", "inner"), [("`````", "```"), ("~~~", "```"), ("````", "~~~~"), ("```", "    ```")])
def test_a_fence_within_a_fence_over_github_s_limit(outer: str, inner: str) -> None:
    """The inner one is text: it neither ends the outer one at a cut nor is it opened in its place."""
    code = "".join(f"{inner}py\nline {number}\n{inner}\n" for number in range(4_000))
    split_up = split(f"Look:\n\n{outer}md\n{code}{outer}\n\n@end", max_parts=9)
    assert len(split_up) > 1
    found = [fences(part.body) for part in split_up]
    assert [[language for language, _ in one] for one in found] == [["md"]] * len(split_up)
    assert "".join(content for ((_, content),) in found) == code
    assert tokens(split_up[-1].body)[-2].content == "@end"
    assert all(len(part.body) <= CHARACTERS - RESERVE and stands_alone(part.body) for part in split_up)


def test_a_fence_in_a_list_stays_in_its_item() -> None:
    """A deep indent would make code of the text that follows."""
    code = "".join(f"     line {number}\n" for number in range(60))
    text = f"100. first\n\n     ```js\n{code}     ```\n\n     after it\n\n101. second"
    bodies = [part.body for part in parts(text, 400)]
    assert all(len(fences(body)) <= 1 for body in bodies)
    last = tokens(bodies[-1])
    assert not any(token.type == "code_block" for token in last)
    assert "after it" in [token.content for token in last if token.type == "inline"]


def test_a_quoted_fence_stays_quoted() -> None:
    """Also in a list."""
    for prefix in ("> ", "- > ", "> 10. "):
        inner = " " * len(prefix) if ">" not in prefix else re.sub(r"[^>]", " ", prefix)
        text = f"{prefix}```\n" + "".join(f"{inner}line {number}\n" for number in range(60)) + f"{inner}```\n"
        found = [fence for part in parts(text, 300) for fence in fences(part.body)]
        assert "".join(content for _, content in found).split() == fences(text)[0][1].split(), prefix


def test_details_are_opened_again_under_their_name() -> None:
    """Nested ones too."""
    inner = "\n\n".join(f"paragraph {number}" for number in range(60))
    text = (
        "<details><summary>Outer</summary>\n\n<details>\n<summary>Inner</summary>\n\n"
        f"{inner}\n\n</details>\n\n</details>\n\nend"
    )
    split_up = parts(text, 300)
    assert split_up[0].tail.count("</details>") == 2
    assert "<details><summary>Outer</summary>" in split_up[1].head
    assert "<details><summary>Inner</summary>" in split_up[1].head
    assert split_up[-1].body.endswith("end")


def test_a_table_has_its_head_again() -> None:
    """Every part is a table."""
    text = "| a | b |\n|---|---|\n" + "".join(f"| {number} | x |\n" for number in range(100))
    for part in parts(text, 300):
        assert tokens(part.body)[0].type == "table_open"


def test_at_most_so_many_parts() -> None:
    """The rest is a link, behind what it closes."""
    text = "```\n" + "line\n" * 1_000 + "```\n"
    split_up = parts(text, 300, max_parts=2, rest="[the rest](https://bot.test/runs/1)")
    assert len(split_up) == 2
    assert split_up[1].body.endswith("```\n\n[the rest](https://bot.test/runs/1)")
    assert not split_up[0].body.endswith(")")
    assert all(stands_alone(part.body) for part in split_up)
    assert text.startswith("".join(part.text for part in split_up))


def test_one_endless_line() -> None:
    """Cut at a space where there is one, and anywhere else where not."""
    assert [part.text for part in parts("a" * 450, 200)] == ["a" * 200, "a" * 200, "a" * 50]
    assert all(part.text.endswith(" ") for part in parts("word " * 200, 200)[:-1])


def test_github_s_limits() -> None:
    """Whatever the characters weigh, with room for footer and marker."""
    for text in ("漢" * 150_000, "👍 " * 70_000, "word " * 40_000):
        for part in split(text):
            assert len(part.body) <= CHARACTERS - RESERVE
            assert len(part.body.encode()) <= BYTES - RESERVE


def test_absurd_markup_ends_too() -> None:
    """A fence longer than a part cannot be closed in it; it is cut all the same."""
    text = "`" * 500 + "\nx\n" * 50
    split_up = parts(text, 200)
    assert "".join(part.text for part in split_up) == text
    assert all(len(part.body) <= 200 for part in split_up)


def test_no_room() -> None:
    """A limit that nothing fits into is a mistake of the caller."""
    with pytest.raises(ValueError, match="room"):
        split("x", characters=RESERVE)
    with pytest.raises(ValueError, match="room"):
        split("x", max_parts=0)


LINES = st.sampled_from(
    [
        *("```", "```py", "````", "~~~", "> ```", "  ```", "- ```", "     ```", "> - ```", "- > ~~~", "10. ```"),
        *("<details>", "<details><summary>a</summary>", "</details>", "<pre>", "</pre>", "<!--", "-->", "<div>"),
        *("- item", "  more", "    deeper", "10. ten", "> quote", "# head", "===", "| a | b |", "|---|---|", "***"),
        *("", "", "", "text", "text `code` text", "x" * 90, "word " * 20, "[a]: /b", "`" * 40),
    ]
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, max_size=60).map("\n".join), st.integers(400, 900))
@example("~~~\n" * 40 + "`" * 70 + "\nx" * 200, 200)
@example("<details><summary>" + "s" * 150 + "</summary>\n\n" + "text\n\n" * 100, 200)
def test_parts_stand_alone_fit_and_are_the_text(text: str, size: int) -> None:
    """Balanced, within the limit, and together the same text to the character."""
    split_up = parts(text, size)
    assert "".join(part.text for part in split_up) == text
    assert all(len(part.body) <= size for part in split_up)
    assert all(part.text for part in split_up) or text == ""
    assert all(stands_alone(part.body) for part in split_up)


def test_no_part_is_an_empty_fence() -> None:
    """One endless line in a fence: each part has some of it."""
    parts = split(f"```text\n{'x' * 400_000}\n```", rest="rest")
    assert [len(part.text) > 60_000 for part in parts] == [True] * 3


def test_what_was_left_out_before_is_said() -> None:
    """Also where the rest fits."""
    assert split("short", rest="*more*", more=True)[-1].body == "short\n\n*more*"
    assert split("short", rest="*more*")[-1].body == "short"
