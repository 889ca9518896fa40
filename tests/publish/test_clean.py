"""Nothing is in a text that nobody sees, and nothing else is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.publish.clean import clean, is_hidden


@pytest.mark.parametrize(
    "text",
    [
        "naïve café, Ελληνικά, Привет",
        "漢字かな交じり文、한국어, 葛\U000e0100城",
        "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 ❤️ 1️⃣ 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "می‌خواهم क्‍ष",
        "e\u0301 a\u0308 שלום עולם",
        "tab\tand\nnewline\n",
    ],
)
def test_writing_stays(text: str) -> None:
    """Accents, CJK with variants, emoji sequences, joiners where the script needs them, right-to-left text."""
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pass\u200bword", "password"),
        ("\u202eevil\u202c", "evil"),
        ("a\u2066b\u2069\u200f", "ab"),
        ("a\u00adb\u2060c\ufeffd", "abcd"),
        ("tag\U000e0041\U000e0042s", "tags"),
        ("x\ufe0fy\u200dz\u200c", "xyz"),
        ("a\u3164\u115fb", "ab"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://e\x07link\x1b]8;;\x1b\\", "link"),
        ("\x9b1mbold", "bold"),
        ("nul\0 bell\a back\b", "nul bell back"),
        ("👍\u200d\u2060a", "👍a"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("lone \ud800 and \udfff", "lone \ufffd and \ufffd"),
        ("👍\ufe0f\ufe0f\u200d", "👍\ufe0f"),
    ],
)
def test_what_nobody_sees_goes(text: str, shown: str) -> None:
    """Zero width, bidi, tags, fillers, ANSI, controls, surrogates."""
    assert clean(text) == shown


@given(st.text() | st.text(st.sampled_from("a👍\u200d\ufe0f\u200c\x1b[m\r\n\u06cc\u2060\U000e0100葛🏴")))
def test_idempotent_and_encodable(text: str) -> None:
    """Applied again nothing changes, and it can be sent."""
    once = clean(text)
    assert clean(once) == once
    once.encode()


def test_hidden() -> None:
    """An invisible character is hidden; a space and nothing are not."""
    assert is_hidden("\u200b")
    assert not is_hidden(" ")
    assert not is_hidden("")
