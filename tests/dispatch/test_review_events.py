"""Payloads of reviews and review comments: what is told, and in which order."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from bot.dispatch.events import Ignored, normalise, signal_of
from bot.dispatch.intake import _place
from bot.model.event import Event
from bot.store.tables import Delivery
from bot.webhook.identity import content_key
from tests.dispatch.reviews import HUNK, pull_fields, remark_payload, review_payload
from tests.dispatch.scene import ME, stamp
from tests.rows import ANA, NOW

LATER = NOW + timedelta(minutes=5)


def heard(name: str, payload: dict[str, Any]) -> Event:
    found = normalise(name, payload)
    assert isinstance(found, Event), found
    return found


def test_a_submitted_review() -> None:
    """Its text may hold a request; the pull request, its author and the review's state are told."""
    event = heard("pull_request_review", review_payload("@bot do it"))
    assert (event.subject, event.action, event.text, event.old_text, event.at) == (
        ("review", "submitted", "@bot do it", None, NOW)
    )
    assert event.comment is not None
    assert (event.comment.kind, event.comment.id, event.comment.updated_at) == ("review", 700, NOW)
    assert event.pull is not None
    assert (event.pull.author, event.pull.head, event.pull.base, event.pull.draft) == (ME, "bot/7-size", "main", True)
    assert event.pull.head_repository is not None
    assert event.review is not None
    assert (event.review.id, event.review.state, event.review.commit) == (700, "changes_requested", "a" * 40)
    assert (event.issue.number, event.issue.is_pull_request) == (1, True)


def test_an_edited_and_a_dismissed_review() -> None:
    """The old text of an edit is told; who dismisses a review asks for nothing. Both are of the pull request's time."""
    edited = review_payload("@bot do it", action="edited", old="do it", at=NOW - timedelta(hours=1))
    event = heard("pull_request_review", edited)
    assert (event.text, event.old_text, event.at) == ("@bot do it", "do it", NOW)
    assert event.comment is not None
    assert event.comment.updated_at == NOW
    dismissed = heard("pull_request_review", review_payload("@bot do it", action="dismissed", state="dismissed"))
    assert dismissed.text == ""


def test_a_review_comment() -> None:
    """With its place; the thread is its own where it answers nobody."""
    event = heard("pull_request_review_comment", remark_payload("@bot why?"))
    assert (event.subject, event.text) == ("review_comment", "@bot why?")
    assert event.comment is not None
    place = event.comment.place
    assert place is not None
    assert (place.path, place.line, place.hunk, place.root_id, place.review_id) == ("src/size.py", 2, HUNK, 801, 700)
    answered = heard("pull_request_review_comment", remark_payload("x", root=800)).comment
    assert answered is not None
    assert answered.place is not None
    assert answered.place.root_id == 800
    edited = heard("pull_request_review_comment", remark_payload("new", action="edited", old="old", at=LATER))
    assert (edited.text, edited.old_text, edited.at) == ("new", "old", LATER)
    assert heard("pull_request_review_comment", remark_payload("@bot x", action="deleted")).text == ""


def test_what_cannot_be_read() -> None:
    """Without a pull request, or without what was said, it is ignored with the reason."""
    for key in ("pull_request", "review"):
        payload = review_payload("x") | {key: None}
        assert isinstance(normalise("pull_request_review", payload), Ignored)
    gone = review_payload("x")
    gone["pull_request"]["head"] = {"ref": "x", "sha": "y", "repo": None}
    event = heard("pull_request_review", gone)
    assert event.pull is not None
    assert event.pull.head_repository is None


def test_who_waits_for_a_comment() -> None:
    """Whatever was said is one; a review without a text of its own is not."""
    said = signal_of(heard("pull_request_review", review_payload("Nearly.")))
    assert said is not None
    assert (said.event, said.numbers, said.fields["comment_id"]) == ("comment", (1,), "700")
    assert signal_of(heard("pull_request_review_comment", remark_payload("Nearly."))) is not None
    assert signal_of(heard("pull_request_review", review_payload(None))) is None
    assert signal_of(heard("pull_request_review", review_payload("x", action="edited", old="y"))) is None


def place(payload: dict[str, Any]) -> tuple[str, object]:
    row = Delivery(
        app_id=1, guid="g", content_key="c", event="x", action="x", repository_id=101,
        body=json.dumps(payload).encode(), received_at=NOW + timedelta(days=1),
    )  # fmt: skip
    return _place(row)


def test_order_among_events() -> None:
    """All of a pull request in one order by GitHub's times; an edit of a review is of the pull request's."""
    assert place(remark_payload("x", at=LATER)) == ("101#1", LATER)
    submitted = review_payload("x", at=NOW - timedelta(hours=1))
    assert place(submitted) == ("101#1", NOW - timedelta(hours=1))
    assert place(submitted | {"action": "edited"}) == ("101#1", NOW)
    submitted["review"] |= {"updated_at": stamp(LATER)}
    assert place(submitted | {"action": "edited"}) == ("101#1", LATER)
    del submitted["review"]["submitted_at"]
    submitted["review"]["updated_at"] = None
    assert place(submitted)[1] == NOW + timedelta(days=1)


@pytest.mark.parametrize(
    "change",
    [
        {"action": "edited"},
        {"review": {"id": 701}},
        {"review": {"body": "y"}},
        {"review": {"submitted_at": stamp(LATER)}},
        # the second of two edits back and forth: a review has no time of its own for it
        {"pull_request": {"updated_at": stamp(LATER)}},
    ],
)
def test_what_tells_reviews_apart(change: dict[str, Any]) -> None:
    """Each of these is another request; the very same body is not."""
    one, other = review_payload("x"), review_payload("x")
    assert content_key(one) == content_key(other)
    for key, value in change.items():
        other[key] = other[key] | value if isinstance(value, dict) else value
    assert content_key(one) != content_key(other)


def test_a_review_comment_is_none_of_the_conversation() -> None:
    """The same number and text in the conversation is another request."""
    remark = remark_payload("x")
    comment = {key: value for key, value in remark.items() if key != "pull_request"} | {"issue": pull_fields()}
    assert content_key(remark) != content_key(comment)


def test_sender_and_author() -> None:
    """Who edits somebody else's review comment is who asks."""
    event = heard("pull_request_review_comment", remark_payload("x", ANA, action="edited", author=ME, old="y"))
    assert event.comment is not None
    assert (event.sender, event.comment.author) == (ANA, ME)
