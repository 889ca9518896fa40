"""The parts of a long text: each fits, stands alone, and does no more than the whole would."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.model.slot import Slot
from bot.publish import Redactor
from bot.publish.clean import whole
from bot.publish.compose import Draft, compose
from bot.publish.findings import findings_line
from bot.publish.marker import ROOM, Marker, strip
from bot.publish.payload import Payload
from bot.publish.policy import Policy, Sink
from bot.publish.split import BYTES, CHARACTERS, RESERVE, Part, split

from .fragments import PIECES, SECRET
from .github_reading import foreign, reading
from .test_split import LINES, stands_alone

REDACT = Redactor([SECRET])
POLICY = Policy(REDACT)
MARKER = Marker([b"k" * 32])
SLOT = Slot("run/01JX", "result", step="triage")
FOOTER = "<sub>[r4](https://bot.test/runs/1) · triage · 21 s</sub>"
REST = "[The rest](https://bot.test/runs/1)"
SMALL = 1_500 + RESERVE


def bodies(text: str, characters: int = CHARACTERS, max_parts: int = 3) -> tuple[str, ...]:
    draft = Draft(text, output=True, footer=FOOTER, rest=REST, max_parts=max_parts)
    return compose(draft, REDACT, characters=characters)


def signed(body: str) -> str:
    return MARKER.sign(body, repository_id=5, thread=7, slot=SLOT)


LONG = st.lists(
    st.sampled_from([*PIECES, "word " * 60, "x" * 300, "`@bob`" * 20, "漢字\n" * 30, "`\n@bob\n`"]), max_size=60
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LONG.map("".join), st.integers(1, 4))
@example("`" + "@bob " * 600 + "`", 3)
@example("`" + "@bob\n" * 600 + "`", 3)
@example("<b>" * 300 + "`x @sam`" * 300, 2)
@example("~" * 2_000 + "\n@bob\n" * 200, 3)
@example("`" * 2_000 + "@bob\n" * 200, 3)
@example("[a](https://x.test 'b c')" * 200, 3)
def test_no_cut_makes_anything_act(text: str, max_parts: int) -> None:
    """What was code or a link before stays harmless in both parts; each is a fixed point and stands alone."""
    made = bodies(text, SMALL, max_parts)
    assert len(made) <= max_parts
    for body in made:
        page = reading(body)
        assert (page.pings, page.closes, page.hidden) == ([], [], [])
        assert not any(map(foreign, page.loads))
        assert SECRET not in body
        assert len(signed(body)) <= SMALL
        assert stands_alone(body)
        body.encode()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, max_size=90).map("\n".join), st.integers(2, 5))
def test_the_marker_is_whole_in_every_part(text: str, max_parts: int) -> None:
    """Signed after the cut, found in what GitHub makes of it, and behind what was left open."""
    for body in bodies(text, SMALL, max_parts):
        posted = signed(body).replace("\n", "\r\n")
        assert len(posted.replace("\r", "")) <= SMALL
        mark = MARKER.find(posted, repository_id=5, thread=7)
        assert mark is not None
        assert (mark.slot, mark.intact) == (SLOT, True)
        edited = MARKER.find(posted.replace("e", "ee"), repository_id=5, thread=7)
        assert edited is None or edited.slot == SLOT
        assert MARKER.find(posted, repository_id=5, thread=8) is None
        # as a comment of HTML, not as text of a fence that was left open
        assert "threadsmith slot" not in reading(signed(body)).shown


def test_an_edit_of_the_visible_text_does_not_break_the_marker() -> None:
    """A person who writes above it, below it, or takes all of the text away."""
    body = bodies("A long answer. " * 9_000)[0]
    posted = signed(body)
    for edited in (
        f"me too\n\n{posted}",
        f"{posted}\r\n\r\nme too",
        posted[len(body) :],
        posted.replace("long", "short"),
    ):
        mark = MARKER.find(edited, repository_id=5, thread=7)
        assert mark is not None
        assert (mark.slot, mark.intact) == (SLOT, False)
    assert strip(posted) == body.strip()


@pytest.mark.parametrize(
    "text",
    [
        "```py\n" + "print('漢字 👍')\n" * 13_000 + "```",
        "```\n" + "x" * 200_000 + "\n```",
        "x" * 200_000,
        "👩‍👩‍👧‍👦" * 28_000,
        "| a | b |\n|---|---|\n" + "| cell | 漢 |\n" * 15_000,
        "".join(f"{'  ' * (n % 40)}- item {n}\n" for n in range(7_000)),
        "> " * 50 + "deep\n" + ("> " * 50 + "deeper\n") * 1_800,
        "<details><summary>a</summary>\n\n" * 20 + "text\n\n" * 30_000 + "</details>\n\n" * 20,
        "<div>\n" + "<p>text</p>\n" * 15_000 + "</div>",
        "<table>\n" + "<tr><td>a</td></tr>\n" * 9_000 + "</table>\n\nend",
        "- a\n\n  ````js\n" + "  let x = `${y}`\n" * 11_000 + "  ````\n\nend",
    ],
)
def test_github_s_limits_hold_for_200_kb(text: str) -> None:
    """With footer and marker, in characters and in bytes; the last part says where the rest is."""
    made = bodies(text)
    assert 2 <= len(made) <= 4
    for body in made:
        assert len(signed(body)) <= CHARACTERS
        assert len(signed(body).encode()) <= BYTES
        assert stands_alone(body)
    assert made[-1].endswith((REST, FOOTER))
    assert all(not body.endswith(REST) for body in made[:-1])


SIGNS = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "👍🏽", "e\u0301", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "क्‍ष", "漢", "x"]


@given(st.lists(st.sampled_from(SIGNS), min_size=150, max_size=300), st.integers(105, 160))
def test_what_is_seen_as_one_sign_is_not_cut_in_two(signs: list[str], size: int) -> None:
    """A family stays together, and a flag keeps both its letters."""
    text = "".join(signs)
    parts = split(text, characters=size + RESERVE, max_parts=999)
    assert "".join(part.text for part in parts) == text
    borders = {0}
    for sign in signs:
        borders.add(max(borders) + len(sign))
    place = 0
    for part in parts:
        place += len(part.text)
        assert place in borders


def test_a_pile_of_marks_is_cut_somewhere() -> None:
    """Nobody writes a letter with a thousand accents."""
    text = "a" + "\u0301" * 1_000
    assert whole(text, 500) == 500
    assert whole("abc", 2) == 2
    assert whole("abc", 3) == 3
    assert "".join(part.text for part in split(text, characters=200 + RESERVE, max_parts=99)) == text


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES) | LINES, max_size=60).map("".join), st.integers(300, 900))
def test_any_markdown_splits_into_parts_that_join_to_it(text: str, size: int) -> None:
    """Not only what the policy has made harmless."""
    parts: tuple[Part, ...] = split(text, characters=size + RESERVE, max_parts=999)
    assert "".join(part.text for part in parts) == text
    assert all(len(part.body) <= size for part in parts)
    limited = split(text, characters=size + RESERVE, max_parts=2, rest=REST)
    assert len(limited) <= 2
    assert limited[-1].body.endswith(REST) or "".join(part.text for part in limited) == text


def test_a_long_pull_request_still_closes_its_issue() -> None:
    """The line stands behind the cut; and no cut suggestion can be applied."""
    payload = {"head": "b", "base": "m", "title": "t", "body": "word " * 20_000, "closes": 7}
    (text,) = Payload("pull_request", json.dumps(payload), closes=("#7",), rest=REST).composed(REDACT)
    body = json.loads(text)["body"]
    assert body.endswith(f"{REST}\n\nCloses #7")
    assert len(body) <= CHARACTERS
    remark = {"path": "a", "line": 1, "body": "x", "suggestion": "line\n" * 20_000}
    review = {"head_sha": "c", "event": "COMMENT", "body": "", "comments": [remark]}
    (text,) = Payload("review", json.dumps(review)).composed(REDACT)
    (made,) = json.loads(text)["comments"]
    assert "suggestion" not in made["body"]
    assert len(made["body"]) <= CHARACTERS - ROOM


def test_a_review_of_many_findings_has_room_for_the_line_that_names_them() -> None:
    """Which is hidden, and as long as there are findings outside the diff."""
    outside = [{"path": "a.py", "line": n, "body": "word " * 60, "fingerprint": f"{n:032x}"} for n in range(300)]
    review = {"head_sha": "c", "event": "COMMENT", "body": "Look.", "comments": [], "outside": outside}
    (text,) = Payload("review", json.dumps(review), rest=REST).composed(REDACT)
    made = json.loads(text)
    line = findings_line(MARKER, made["outside"], repository_id=5, thread=7)
    assert len(signed(f"{made['body']}\n\n{line}")) <= CHARACTERS
    assert made["body"].endswith(REST)


def test_a_title_is_not_cut_through_a_sign() -> None:
    """GitHub takes 256 characters."""
    payload = {"head": "b", "base": "m", "title": "x" * 252 + "👩‍👩‍👧‍👦 and more", "body": ""}
    (text,) = Payload("pull_request", json.dumps(payload)).composed(REDACT)
    assert json.loads(text)["title"] == "x" * 252 + "…"


def test_the_last_words_of_a_result_are_not_lost_to_the_policy() -> None:
    """A cut between a word and its reference leaves both."""
    made = bodies("fixes " * 30_000 + "#1")
    assert all(re.search("fixes", body) for body in made)
    assert POLICY.apply(made[-1], Sink.COMMENT) == made[-1]
