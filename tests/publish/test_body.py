"""The shapes of what is said, as the design shows them; each passes the policy unchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.finding import Finding
from bot.model.context import CommentRecord, InputRecord, Manifest
from bot.model.fence import fence
from bot.model.outcome import Usage
from bot.publish import body
from bot.publish.footer import Footer, Saw, dollars, duration
from bot.publish.policy import Policy, Sink

FOOTER = Footer(
    run=4,
    url="https://bot.test/runs/01",
    name="triage",
    model="gpt-5-mini",
    seconds=21.4,
    usage=Usage(3_000, 912, 2, 0.004),
    saw=Saw(5, 2, 1),
)
SMALL = (
    "<sub>[r4](https://bot.test/runs/01) · triage · gpt-5-mini · 21 s · 3,912 tokens · $0.004"
    " · saw 5 comments, 2 pins, 1 input</sub>"
)


def unchanged(text: str) -> str:
    """The text, which the policy has nothing to say about."""
    assert Policy().apply(text, Sink.COMMENT) == text
    return text


def test_a_result() -> None:
    """Answer, result folded, footer."""
    text = body.result_body(
        "The crash comes from `parse_size()`.\n", result={"risk": "low", "components": ["parser"]}, footer=FOOTER
    )
    assert unchanged(text) == (
        "The crash comes from `parse_size()`.\n\n"
        '<details><summary>Result</summary>\n\n`risk: low` · `components: ["parser"]`\n\n</details>\n\n' + SMALL
    )


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ({"n": 1, "ok": True, "none": None}, "`n: 1` · `ok: true` · `none: null`"),
        ({"text": "`x`"}, '``text: "`x`"``'),
        ({"text": ""}, '`text: ""`'),
        ([1, 2], "```json\n[\n  1,\n  2\n]\n```"),
        ({}, "```json\n{}\n```"),
        ({"long": "x" * 80}, '```json\n{\n  "long": "' + "x" * 80 + '"\n}\n```'),
        ({str(n): n for n in range(7)}, "```json\n{\n"),
        (0, "```json\n0\n```"),
    ],
)
def test_a_result_s_json(result: Any, shown: str) -> None:
    """Short objects in one line, everything else in a fence."""
    assert shown in unchanged(body.result_body("a", result=result))


def test_nothing_but_the_text() -> None:
    """No result, no footer, or nothing at all."""
    assert body.result_body("  a\n") == "a"
    assert body.result_body("", result=1).startswith("<details>")
    assert body.result_body(" ") == ""


@pytest.mark.parametrize("text", ["```py\nx", "<details>\n\nx", "a\n<!-- b", "- ```\n  x", "<pre>\nx"])
def test_an_answer_cannot_swallow_the_footer(text: str) -> None:
    """What it leaves open is closed first."""
    shown = body.result_body(text, footer=FOOTER)
    last = MarkdownIt("commonmark").parse(shown)[-2]
    assert last.content == SMALL


def test_a_command_s_output() -> None:
    """As it is, in a fence longer than any in it."""
    assert body.result_body("a\n```\nb\n", fenced=True) == "````text\na\n```\nb\n````"


def test_a_failure() -> None:
    """What failed, why, the last words, what to do."""
    text = body.failure_body(
        name="test",
        code="input_failed",
        message="`failing_tests` exited with 2",
        note="required, so the model was not called",
        detail="ERROR: file or directory not found: tests/unit\n",
        hint="Mend the command in `.github/bot.yml` line 31, or set `required: false`; then `@bot retry r6`.",
        footer=Footer(6, "https://bot.test/runs/06", seconds=4),
    )
    assert unchanged(text) == (
        "**`test` failed: `input_failed` `failing_tests` exited with 2** (required, so the model was not called).\n\n"
        "```text\nERROR: file or directory not found: tests/unit\n```\n\n"
        "Mend the command in `.github/bot.yml` line 31, or set `required: false`; then `@bot retry r6`.\n\n"
        "<sub>[r6](https://bot.test/runs/06) · 4 s</sub>"
    )


def test_a_failure_s_words_cannot_break_out() -> None:
    """Neither the message out of its bold line nor the detail out of its fence."""
    text = body.failure_body(name="a`b", code="c", message="x**y\n\n# z", detail="```\n@bob\n")
    assert text == "**``a`b`` failed: `c` xy # z**.\n\n````text\n```\n@bob\n````"


def test_a_failure_ends_with_one_full_stop() -> None:
    """Also where the message brings its own, and where a note follows."""
    assert body.failure_body(name="a", code="c", message="It is late.") == "**`a` failed: `c` It is late.**"
    assert body.failure_body(name="a", code="c", message="late") == "**`a` failed: `c` late**."
    assert body.failure_body(name="a", code="c", message="late", note="step `b`").endswith("late** (step `b`).")


def test_a_no_is_no_failure() -> None:
    """Who said it, and their words as theirs."""
    assert unchanged(body.stopped_body(name="gate", by="ana", words="Too big.\n\nIn two, please.\n")) == (
        "**`gate` was stopped: `ana` said no.**\n\n> Too big.\n>\n> In two, please."
    )
    assert body.stopped_body(name="gate") == (
        "**`gate` was stopped: nobody answered in time, which is taken for a no.**"
    )


def test_only_the_last_words() -> None:
    """A long log is cut at its beginning, and says how much."""
    lines = [f"line {number}" for number in range(1_000)]
    text = body.failure_body(name="a", code="b", message="c", detail="\n".join(lines))
    assert "line 999\n```" in text
    assert "line 970\n" in text
    assert "line 969\n" not in text
    assert f"… {len(chr(10).join(lines[:970])) + 1:,} characters left out\n" in text
    assert len(body.failure_body(name="a", code="b", message="c", detail="x" * 9_000)) < 4_200


def test_a_cancellation() -> None:
    """Who, and why where that is not plain."""
    assert (
        unchanged(body.cancelled_body(run=7, workflow="implement", by="ana"))
        == "r7 `implement` was cancelled by `ana`."
    )
    assert body.cancelled_body(run=7, workflow="x", by="the deletion of the comment that asked") == (
        "r7 `x` was cancelled by the deletion of the comment that asked."
    )
    assert body.cancelled_body(run=7, workflow="x", why="A deployment.", footer=Footer(7)) == (
        "r7 `x` was cancelled.\n\nA deployment.\n\n<sub>r7</sub>"
    )


FINDING = Finding(
    ".github/bot.yml", 4, 5, "error", "unknown_key", "`modle` is not a key of an agent", "did you mean `model`?"
)


def test_a_broken_configuration() -> None:
    """One row a finding, in the order of the file."""
    text = body.configuration_body([FINDING], commit="4be1d02e8f7a")
    assert unchanged(text) == (
        "**`.github/bot.yml` at 4be1d02 cannot be used**\n\n"
        "| where | what | hint |\n|---|---|---|\n"
        "| 4:5 `unknown_key` | `modle` is not a key of an agent | did you mean `model`? |\n\n"
        "<sub>`threadsmith validate` finds the same on your machine</sub>"
    )


def test_findings_of_several_files() -> None:
    """Each says its file; pipes and line ends stay in their cell."""
    other = Finding(".github/bot/a.yml", 1, 1, "error", "x", "a | b\\|c\nd")
    lines = body.configuration_body([other, FINDING]).splitlines()
    assert lines[0] == "**The configuration cannot be used**"
    assert lines[4].startswith("| `.github/bot.yml` 4:5 ")
    assert lines[5] == "| `.github/bot/a.yml` 1:1 `x` | a \\| b\\|c d |  |"
    assert body.configuration_body(()) == "**The configuration cannot be used**"


def test_a_configuration_with_warnings() -> None:
    """It is used all the same, and is not said to be useless."""
    warned = replace(FINDING, severity="warning")
    assert body.configuration_body([warned], commit="4be1d02e8f7a").startswith("**`.github/bot.yml` at 4be1d02 has ")
    assert "cannot be used" in body.configuration_body([warned, FINDING])


def test_a_plain_reply() -> None:
    """As it is, and closed."""
    assert body.note_body("hello\n\n```\nx", footer=Footer(1)) == "hello\n\n```\nx\n```\n\n<sub>r1</sub>"


@given(st.text())
def test_inline_code_holds_anything(text: str) -> None:
    """One span with the text in it, whatever its backticks."""
    (paragraph,) = [token for token in MarkdownIt().parse(f"a {body.inline_code(text)} b") if token.children]
    spans = [child for child in paragraph.children or [] if child.type == "code_inline"]
    assert len(spans) == 1
    assert spans[0].content.split() == text.replace("\0", "\ufffd").split()


@given(st.text(st.sampled_from("`~\n ab")))
def test_a_fence_holds_anything(text: str) -> None:
    """One block with the text in it, whatever its fences."""
    (token,) = MarkdownIt().parse(fence(text))
    assert token.type == "fence"
    assert token.content.rstrip("\n") == text.rstrip("\n")


def test_a_footer_s_pieces() -> None:
    """What is not known is left out; names cannot become markup."""
    assert str(Footer(4)) == "<sub>r4</sub>"
    assert str(Footer(4, name="a_b*c", usage=Usage(1, 0, 1, 0.0))) == "<sub>r4 · a\\_b\\*c · 1 token</sub>"
    assert str(Footer(4, usage=Usage(), saw=Saw(1, 0, 2, 3))) == (
        "<sub>r4 · saw 1 comment, 0 pins, 2 inputs (3 below trust left out)</sub>"
    )


def test_counts_come_from_the_manifest() -> None:
    """What was seen, not what was there."""

    def record(fate: str) -> CommentRecord:
        return CommentRecord(id=1, author="ana", role="write", created_at="", updated_at="", bytes=1, fate=fate)

    manifest = Manifest(
        comments=tuple(map(record, ("included", "included", "pinned", "below trust", "beyond window"))),
        inputs=(InputRecord(name="a", kind="exec"),),
    )
    assert Saw.of(manifest) == Saw(2, 1, 1, 1)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (3_600, "1 h"),
        (4_200, "1 h 10 min"),
        (-1, "0 s"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    """As people say them."""
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(0.0, "$0.000"), (0.0001, "under $0.001"), (0.0042, "$0.004"), (0.11, "$0.11"), (1_200.0, "$1,200.00")],
)
def test_costs(cost: float, shown: str) -> None:
    """Small ones with a digit more, tiny ones not as nothing."""
    assert dollars(cost) == shown


def test_the_footer_names_review_threads() -> None:
    """Linked, as text that is no Markdown; many are counted."""
    one = Footer(1, threads=[("src/[a]_b.py:3", "https://github.test/o/r/pull/1#discussion_r5"), ("b.py", "")])
    linked = r"[src/\[a\]\_b.py:3](https://github.test/o/r/pull/1#discussion_r5), b.py"
    assert str(one) == f"<sub>r1 · on {linked}</sub>"
    many = Footer(1, threads=[(f"{number}.py", "") for number in range(12)])
    assert str(many).endswith("9.py and 2 more</sub>")
