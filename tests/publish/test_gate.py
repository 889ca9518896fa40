"""What a gate's comment says while it is open and afterwards."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.slot import Slot
from bot.publish import Footer, gate_body, gate_slot, settled_gate_body

UNTIL = datetime(2026, 12, 3, 14, 0, tzinfo=UTC)
FOOTER = Footer(5, name="implement")
AT = "2026-12-01T09:05:00+00:00"
ASKED = {"size": "How big?"}
ADDRESS = "/api/gates/01K/answer"


def test_a_question_with_options() -> None:
    """The question first, then whom it is for and until when; what it is about, verbatim; how to answer."""
    said = gate_body(
        name="r5.approve",
        question="Build this plan?",
        show="1. Read\n2. Write",
        options=["approve", "stop"],
        text=True,
        who="role `maintain` or higher, other than `ana`",
        until=UNTIL,
        then="`stop` is taken",
        address=ADDRESS,
        footer=FOOTER,
    )
    assert said == (
        "**Build this plan?** Asked by `r5.approve`; for role `maintain` or higher, other than `ana`; "
        "open until 3 December 2026, 14:00 UTC, then `stop` is taken.\n\n"
        "1. Read\n2. Write\n\n"
        "- `approve`\n- `stop`\n- or your own words\n\n"
        '<sub>Whoever runs the bot answers: `{"answer":"approve"}` to `POST /api/gates/01K/answer`</sub>\n\n'
        "<sub>r5 · implement</sub>"
    )


def test_a_form() -> None:
    """Each question with what it takes; the example has the required ones."""
    questions = [
        {"id": "size", "question": "How big?", "type": "number", "options": [], "required": True},
        {"id": "kind", "question": "Which?", "type": "enum", "options": ["a", "b"], "required": True},
        {"id": "more", "question": "Else?", "type": "text", "options": [], "required": False},
    ]
    said = gate_body(name="r1.form", question="Some things", questions=questions, address=ADDRESS)
    assert "- `size`: How big? (number)\n- `kind`: Which? (`a`, `b`)\n- `more`: Else? (text, may be left out)" in said
    assert '`{"answers":{"size":1,"kind":"a"}}` to `POST /api/gates/01K/answer`' in said


def test_free_text_alone() -> None:
    """No list of options to choose from."""
    said = gate_body(name="r1.x", question="Why?", text=True, address=ADDRESS)
    assert "\n- your own words\n" in said
    assert '`{"text":"…"}`' in said


def test_where_nobody_can_answer() -> None:
    """It does not point to what would refuse the answer."""
    said = gate_body(name="r1.x", question="Fine?", options=["approve"])
    assert "POST" not in said
    assert "does not say <code>who: {dashboard: true}</code>" in said


def test_a_long_question() -> None:
    """The first line is bold, what follows is text, and a fence that it leaves open is closed."""
    said = gate_body(name="r1.x", question="Fine?\n\nLook:\n```\nx", options=["approve"], address=ADDRESS)
    assert said.startswith("**Fine?** Asked by `r1.x`.\n\nLook:\n```\nx\n```\n\n- `approve`")


def test_a_lone_backtick() -> None:
    """It cannot pair with one of ours; paired ones stay."""
    assert gate_body(name="r1.x", question="Is `a b?").startswith("**Is a b?** Asked by `r1.x`.")
    assert gate_body(name="r1.x", question="Is `a` b?").startswith("**Is `a` b?** Asked by `r1.x`.")


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (
            {"answer": {"answer": "approve", "text": "Good.\n\nGo on.", "by": "operator", "at": AT}},
            "✅ Answered by `operator` on 1 December 2026, 09:05 UTC: **`approve`**\n\n> Good.\n>\n> Go on.",
        ),
        ({"answer": {"answer": None, "text": "Only words", "by": "meg"}}, "✅ Answered by `meg`\n\n> Only words"),
        (
            {"answer": {"answers": {"size": 7, "ok": True, "w": "x" * 201}, "questions": ASKED, "by": "meg"}},
            f"✅ Answered by `meg`\n\n- How big?: `7`\n- ok: `true`\n- w: `{'x' * 200} …`",
        ),
        (
            {"expired": UNTIL, "then": "`stop` was taken"},
            "⌛ Nobody answered until 3 December 2026, 14:00 UTC; `stop` was taken.",
        ),
        ({}, "✖️ Not to be answered any more: the run has ended."),
    ],
)  # fmt: skip
def test_what_became_of_it(how: dict[str, Any], told: str) -> None:
    """Question and what it was about stay; who may answer, until when and how does not."""
    said = settled_gate_body(name="r5.ok", question="Fine?", show="It is.", footer=FOOTER, **how)
    assert said == f"**Fine?** Asked by `r5.ok`.\n\nIt is.\n\n{told}\n\n<sub>r5 · implement</sub>"


def test_words_of_an_answer_stay_in_their_quote() -> None:
    """A fence that they leave open does not swallow the footer."""
    said = settled_gate_body(name="r5.ok", question="Fine?", answer={"text": "```\nx", "by": "meg"}, footer=FOOTER)
    assert said.endswith("> ```\n> x\n> ```\n\n<sub>r5 · implement</sub>")


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(min_size=1, max_size=20), max_size=3))
def test_the_footer_is_always_seen(question: str, show: str, options: list[str]) -> None:
    """Whatever is asked, the pointer and the footer are blocks of their own at the end."""
    said = gate_body(name="r1.x", question=question, show=show, options=options, address=ADDRESS, footer=FOOTER)
    assert said.endswith("<sub>r5 · implement</sub>")
    assert said.split("\n\n")[-2].startswith("<sub>Whoever runs the bot answers")


def test_slots() -> None:
    """One a gate; an attempt that asks for several approvals has one for each."""
    assert gate_slot("R", "ok", 2, "/") == Slot("run/R", "gate", "/", "ok", 2)
    assert gate_slot("R", "ok", 2, "/", approval="G") == Slot("run/R", "gate.G", "/", "ok", 2)
