"""Half a secret is none to who looks for whole ones: beside a cut it goes too."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.model.cut import mark
from bot.publish.redact import PLACEHOLDER, SHORTEST, Redactor
from bot.workspace.capture import Capture

from .test_redact import FORMS, SECRET, core

LIMIT = 2_000


def captured(before: str, behind: str) -> str:
    """What is kept of an output that is cut behind `before`, and goes on with `behind` after the cut."""
    capture = Capture(LIMIT)
    head, tail = before.encode(), behind.encode()
    capture.feed(b"." * (LIMIT - LIMIT // 2 - len(head)) + head)
    capture.feed(b"-" * 5_000 + tail)
    capture.feed(b"." * (LIMIT // 2 - len(tail)))
    assert capture.cut
    return capture.text()


@pytest.mark.parametrize("part", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("name", FORMS)
def test_what_a_cut_leaves_of_each_form(name: str, part: float) -> None:
    """Its beginning before the mark, its end behind it; all else stays."""
    form = FORMS[name]
    at = int(len(form) * part)
    clean = Redactor([SECRET])(captured(form[:at], form[at:]))
    middle = "".join(core(form).split())
    flat = "".join(clean.split())
    assert middle[: len(middle) // 2] not in flat
    assert middle[len(middle) // 2 :] not in flat
    assert clean.startswith("....")
    assert clean.endswith("....")
    assert " bytes cut …]\n" in clean


@settings(deadline=None)
@given(at=st.integers(0, len(SECRET)), letter=st.sampled_from("x\n İ"))
def test_wherever_it_is_cut(at: int, letter: str) -> None:
    """A few characters say nothing; from five on none is left."""
    redact = Redactor([SECRET])
    clean = redact(captured(letter + SECRET[:at], SECRET[at:] + letter))
    before, _, behind = clean.partition("[… ")
    behind = behind.partition("…]\n")[2]
    assert before.endswith(f"{letter}{PLACEHOLDER}\n") or at < SHORTEST
    assert behind.startswith(PLACEHOLDER + letter) or len(SECRET) - at < SHORTEST
    assert redact(clean) == clean


@pytest.mark.parametrize("text", ["troub", "tr0u", "b<x>", SECRET[1:9]])
def test_what_is_no_part_of_it_stays(text: str) -> None:
    """Neither a beginning before the mark nor an end behind it; and nothing without a mark."""
    whole = captured(text, text)
    assert Redactor([SECRET])(whole) == whole
    half = f"{SECRET[:12]}\n[… many bytes cut …]\n{SECRET[12:]}"
    assert Redactor([SECRET])(half) == half


@pytest.mark.parametrize("secrets", [["a" * 3_000 + "b"], [f"secret-number-{number}" for number in range(60)]])
def test_many_marks_take_their_time_and_no_more(secrets: list[str]) -> None:
    """In processor time of this thread: marks are easily printed."""
    text = f"{secrets[-1][:-1]}\n{mark(1, 2)}\n" * 10_000
    begin = time.thread_time()
    Redactor(secrets)(text[:1_000_000])
    assert time.thread_time() - begin < 6
