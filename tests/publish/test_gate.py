"""What a gate's comment says while it is open and afterwards."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.slot import Slot
from bot.publish import Footer
from bot.publish.gate import SHOW_MAX, for_whom, gate_body, gate_slot, reminder_body, settled_gate_body

UNTIL = datetime(2026, 12, 3, 14, 0, tzinfo=UTC)
FOOTER = Footer(5, name="implement")
AT = "2026-12-01T09:05:00+00:00"
ASKED = {"size": "How big?"}
YES_NO = {"options": {"approve": None, "reject": None}}


def test_a_question_with_options() -> None:
    """The question first, who can answer and until when; what it is about, verbatim; a box each; how to answer."""
    said = gate_body(
        name="r5.approve",
        asked={"options": {"approve": "build", "revise": {"rework": "plan"}, "stop": "end"}, "text": True},
        question="Build this plan?",
        show="1. Read\n2. Write",
        who="a maintainer other than @ana",
        until=UNTIL,
        then="`stop` is taken",
        bound="0f3c9a1 at head 4be1d02",
        footer=FOOTER,
    )
    assert said == (
        "**Build this plan?** Asked by `r5.approve`; a maintainer other than @ana can answer until "
        "3 December, 14:00 UTC, then `stop` is taken.\n\n"
        "1. Read\n2. Write\n\n"
        "- [ ] approve\n"
        "- [ ] revise: reply `@bot answer revise <what to change>` to say what\n"
        "- [ ] stop\n"
        "- or in your own words: `@bot answer <your words>`\n\n"
        "<sub>Tick a box, or `@bot approve` · r5 · 0f3c9a1 at head 4be1d02</sub>"
    )


def test_asked_again() -> None:
    """Why, in the new comment; a note of the first time stands alone."""
    said = gate_body(name="r1.x", asked=YES_NO, question="Fine?", note="the head moved", time=2)
    assert "\n\n*Asked again (2 of 3): the head moved.*\n\n- [ ] approve" in said
    assert "\n\n*The head moved.*\n\n" in gate_body(name="r1.x", asked=YES_NO, question="Fine?", note="the head moved")


def test_a_form() -> None:
    """Each question with what it takes; the reply has the required ones; no boxes."""
    questions = [
        {"id": "size", "question": "How big?", "type": "number", "options": [], "required": True},
        {"id": "kind", "question": "Which?", "type": "enum", "options": ["a", "b"], "required": True},
        {"id": "more", "question": "Else?", "type": "text", "options": [], "required": False},
    ]
    said = gate_body(
        name="r1.form", question="Some things", asked={"questions": questions}, footer=FOOTER, handle="@it"
    )
    assert "- `size`: How big? (number)\n- `kind`: Which? (`a`, `b`)\n- `more`: Else? (text, may be left out)" in said
    assert said.endswith("<sub>Reply `@it answer size=… kind=…` · r5</sub>")
    assert "[ ]" not in said


def test_a_form_with_one_question() -> None:
    """Values that can be chosen have boxes."""
    one = {"id": "kind", "question": "Which?", "type": "enum", "options": ["a", "b"], "required": True}
    said = gate_body(name="r1.form", question="Some things", asked={"questions": [one]})
    assert "\n\n`kind`: Which?\n\n- [ ] a\n- [ ] b\n\n<sub>Tick a box, or `@bot answer kind=…`</sub>" in said


def test_free_text_alone() -> None:
    """No list of options to choose from."""
    said = gate_body(name="r1.x", question="Why?", asked={"text": True})
    assert "\n\nAnswer in your own words: `@bot answer <your words>`\n\n" in said
    assert said.endswith("<sub>Reply `@bot answer <your words>`</sub>")


def test_options_are_only_words() -> None:
    """What Markdown would read in one is escaped."""
    said = gate_body(name="r1.x", question="Which?", asked={"options": {"a*b*": "x", "open_pr": "y"}})
    assert "- [ ] a\\*b\\*\n- [ ] open_pr" in said
    assert "Tick a box, or `@bot answer a*b*`" in said


def test_what_is_too_long_is_cut_before_the_boxes() -> None:
    """They are always there; how much is missing is said."""
    said = gate_body(name="r1.x", question="Fine?", show="x" * (SHOW_MAX + 1_000), asked=YES_NO)
    assert "\n\n*1,000 characters more are not shown here.*\n\n- [ ] approve" in said


@pytest.mark.parametrize(
    ("who", "told"),
    [
        ({"role": "maintain", "not_requester": True}, "a maintainer other than @ana"),
        ({"role": "write"}, "anybody who can write here"),
        ({"logins": ["meg", "sam"]}, "@meg or @sam"),
        ({"logins": ["meg"], "role": "admin", "not_requester": True}, "@meg or an administrator, other than @ana,"),
        ({"role": "maintain", "dashboard": True}, "a maintainer or whoever runs the bot"),
        ({"logins": ["a b*"]}, "`a b*`"),
        ({}, ""),
    ],
)  # fmt: skip
def test_whom_it_is_for(who: dict[str, Any], told: str) -> None:
    """People by name, a role in words, and never a name that is none."""
    assert for_whom(who, "ana") == told


def test_a_reminder() -> None:
    """Who is asked for, what is asked, and until when."""
    said = reminder_body(
        name="r5.ok", question="Build *it*?\nMore", whom=["meg"], link="https://x.test/1", until=UNTIL, then="it ends"
    )
    assert said == (
        "@meg `r5.ok` still waits for an answer: [Build \\*it\\*?](https://x.test/1) "
        "It is open until 3 December, 14:00 UTC, then it ends."
    )


def test_a_long_question() -> None:
    """The first line is bold, what follows is text, and a fence that it leaves open is closed."""
    said = gate_body(name="r1.x", question="Fine?\n\nLook:\n```\nx", asked=YES_NO)
    assert said.startswith("**Fine?** Asked by `r1.x`.\n\nLook:\n```\nx\n```\n\n- [ ] approve")


def test_a_lone_backtick() -> None:
    """It cannot pair with one of ours; paired ones stay."""
    assert gate_body(name="r1.x", question="Is `a b?", asked={}).startswith("**Is a b?** Asked by `r1.x`.")
    assert gate_body(name="r1.x", question="Is `a` b?", asked={}).startswith("**Is `a` b?** Asked by `r1.x`.")


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (
            {"answer": {"answer": "approve", "text": "Good.\n\nGo on.", "by": "operator", "at": AT}},
            "✅ Answered by `operator` on 1 December, 09:05 UTC: **`approve`**\n\n> Good.\n>\n> Go on.",
        ),
        ({"answer": {"answer": None, "text": "Only words", "by": "meg"}}, "✅ Answered by `meg`\n\n> Only words"),
        (
            {"answer": {"answers": {"size": 7, "ok": True, "w": "x" * 201}, "questions": ASKED, "by": "meg"}},
            f"✅ Answered by `meg`\n\n- How big?: `7`\n- ok: `true`\n- w: `{'x' * 200} …`",
        ),
        (
            {"expired": UNTIL, "then": "`stop` was taken"},
            "⌛ Nobody answered until 3 December, 14:00 UTC; `stop` was taken.",
        ),
        ({"void": "the head moved", "then": "Asked again below"}, "↩️ Void: the head moved.\n\nAsked again below."),
        ({"note": "came late"}, "✖️ Not to be answered any more: the run has ended.\n\n*Came late.*"),
        ({}, "✖️ Not to be answered any more: the run has ended."),
    ],
)  # fmt: skip
def test_what_became_of_it(how: dict[str, Any], told: str) -> None:
    """Question and what it was about stay; who may answer, until when and how does not."""
    said = settled_gate_body(name="r5.ok", question="Fine?", show="It is.", footer=FOOTER, **how)
    assert said == f"**Fine?** Asked by `r5.ok`.\n\nIt is.\n\n{told}\n\n<sub>r5</sub>"


def test_words_of_an_answer_stay_in_their_quote() -> None:
    """A fence that they leave open does not swallow the footer."""
    said = settled_gate_body(name="r5.ok", question="Fine?", answer={"text": "```\nx", "by": "meg"}, footer=FOOTER)
    assert said.endswith("> ```\n> x\n> ```\n\n<sub>r5</sub>")


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text("ab *`_", min_size=1, max_size=20), max_size=3))
def test_the_boxes_and_the_footer_are_always_seen(question: str, show: str, options: list[str]) -> None:
    """Whatever is asked, both are blocks of their own at the end."""
    labels = dict.fromkeys(option.strip() or "x" for option in options)
    said = gate_body(name="r1.x", question=question, show=show, asked={"options": labels}, footer=FOOTER)
    *_, boxes, small = said.split("\n\n")
    assert small.startswith("<sub>")
    assert small.endswith("r5</sub>")
    assert not labels or [line[:6] for line in boxes.split("\n")] == ["- [ ] "] * len(labels)


def test_slots() -> None:
    """One a gate; an attempt that asks for several approvals has one for each."""
    assert gate_slot("R", "ok", 2, "/") == Slot("run/R", "gate", "/", "ok", 2)
    assert gate_slot("R", "ok", 2, "/", approval="G") == Slot("run/R", "gate.G", "/", "ok", 2)
    assert gate_slot("R", "ok", 2, "/", asked=3) == Slot("run/R", "gate.3", "/", "ok", 2)
    assert gate_slot("R", "ok", 2, "/", what="reminder") == Slot("run/R", "reminder", "/", "ok", 2)
