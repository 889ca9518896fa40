"""Long outputs: the end in sight, what came before folded, bounded, and no secret cut in two."""

from __future__ import annotations

import pytest

from bot.publish import Redactor
from bot.publish.compose import Draft, compose
from bot.publish.excerpt import FOLDED, SIGHT, SIGHT_LINES, WHOLE, WHOLE_LINES, excerpt, is_long

SECRET = "can-you-keep-a-secret-of-some-length"
REDACT = Redactor([SECRET])


def posted(text: str) -> tuple[str, ...]:
    return compose(Draft(text, output=True, fenced=True, footer="<sub>r1</sub>", max_parts=10), REDACT)


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("x\n" * WHOLE_LINES, False),
        ("x\n" * (WHOLE_LINES + 1), True),
        ("x" * WHOLE, False),
        ("x" * (WHOLE + 1), True),
    ],
)
def test_what_is_long(text: str, *, long: bool) -> None:
    """By lines or by characters; the last line's end counts for none."""
    assert is_long(text) == long
    assert ("<details>" in posted(text)[0]) == long


def test_twenty_thousand_lines() -> None:
    """One comment: the last lines, those before folded, and how many more there were."""
    (only,) = posted("".join(f"{number}\n" for number in range(1, 20_001)))
    sight, _, rest = only.partition("\n\n<details><summary>")
    first = 20_001 - SIGHT_LINES
    assert sight == "```text\n" + "\n".join(map(str, range(first, 20_001))) + "\n```"
    folded = rest.split("```text\n")[1].split("\n```")[0].split("\n")
    assert folded[-1] == str(first - 1)
    assert rest.startswith(f"{len(folded):,} lines before</summary>")
    assert f"*{int(folded[0]) - 1:,} more lines before these are left out.*" in rest
    assert rest.endswith("</details>\n\n<sub>r1</sub>")
    assert len(only) < SIGHT + FOLDED + 500


def test_one_endless_line() -> None:
    """Characters are counted where there are no lines."""
    text = excerpt("x" * 100_000, REDACT)
    assert f"*{100_000 - SIGHT - FOLDED:,} characters before these are left out.*" in text
    assert text.startswith("```text\n" + "x" * SIGHT + "\n```\n\n<details><summary>1 line before</summary>")


@pytest.mark.parametrize("behind", [SIGHT, SIGHT + FOLDED])
@pytest.mark.parametrize("part", range(1, len(SECRET), 7))
def test_no_cut_goes_through_a_secret(behind: int, part: int) -> None:
    """Neither of the two: half of one would be none to the redactor."""
    (only,) = posted("." * 50_000 + SECRET + "." * (behind - part))
    assert "can-" not in only
    assert "length" not in only
