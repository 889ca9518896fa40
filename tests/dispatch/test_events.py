"""Payload → event: the fields that matter, and a reason for what means nothing."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.dispatch.events import Ignored, normalise, signal_of
from bot.model.event import HANDLED, Event, Signal
from tests.webhook.senders import comment_payload, examples


def event(name: str, payload: dict[str, Any]) -> Event:
    found = normalise(name, payload)
    assert isinstance(found, Event), found
    return found


def issue_payload(action: str, **more: Any) -> dict[str, Any]:
    payload = comment_payload()
    del payload["comment"]
    return payload | {"action": action} | more


def test_a_created_comment() -> None:
    """Text, sender, place and time; the sender is not taken from the comment's author."""
    payload = comment_payload("@bot help") | {"sender": {"id": 12, "login": "meg", "type": "User"}}
    found = event("issue_comment", payload)
    assert (found.name, found.action, found.subject, found.text, found.old_text) == (
        ("issue_comment", "created", "comment", "@bot help", None)
    )
    assert (found.sender.id, found.sender.login) == (12, "meg")
    assert found.comment
    assert (found.comment.id, found.comment.author.login) == (501, "ana")
    assert (found.repository.id, found.repository.full_name, found.installation_id) == (101, "ana/widgets", 9)
    assert (found.issue.id, found.issue.number, found.at) == (301, 3, datetime(2025, 11, 3, 10, tzinfo=UTC))


@pytest.mark.parametrize(
    ("changes", "old"),
    [
        ({"body": {"from": "before"}}, "before"),
        ({"body": {}}, ""),
        ({"body": {"from": None}}, ""),
        ({"title": {"from": "before"}}, "after"),
        ({}, "after"),
        (None, "after"),
    ],
)
@pytest.mark.parametrize("name", ["issue_comment", "issues"])
def test_an_edit_has_the_old_text(name: str, changes: dict[str, Any] | None, old: str) -> None:
    """Where not the body was edited the old text is the new one, so that nothing counts as added."""
    payload = comment_payload("after") if name == "issue_comment" else issue_payload("edited")
    payload["issue"]["body"] = "after"
    later = {"updated_at": "2025-11-03T11:00:00Z"}
    payload["issue"].update(later)
    if "comment" in payload:
        payload["comment"].update(later)
    found = event(name, payload | {"action": "edited"} | ({} if changes is None else {"changes": changes}))
    assert (found.text, found.old_text, found.at) == ("after", old, datetime(2025, 11, 3, 11, tzinfo=UTC))


def test_an_opened_issue() -> None:
    """Its body may ask for something, its title never; a body that is null is empty."""
    found = event("issues", issue_payload("opened"))
    assert (found.text, found.comment, found.subject) == ("It crashes", None, "issue")
    empty = issue_payload("opened")
    empty["issue"]["body"] = None
    assert event("issues", empty).text == ""


def test_an_issue_opened_by_a_transfer_asks_nothing() -> None:
    """Its body was read in the repository that it came from."""
    moved = issue_payload("opened", changes={"old_issue": {"id": 1}, "old_repository": {"id": 2}})
    assert event("issues", moved).text == ""


@pytest.mark.parametrize("action", sorted(HANDLED["issue_comment"] - {"created", "edited"}))
def test_other_actions_on_a_comment_ask_nothing(action: str) -> None:
    """Deleted and pinned comments are known, and their text is no request."""
    found = event("issue_comment", comment_payload("@bot help") | {"action": action})
    assert (found.text, found.old_text) == ("", None)
    assert found.comment
    assert found.comment.body == "@bot help"


@pytest.mark.parametrize("action", sorted(HANDLED["issues"] - {"opened", "edited"}))
def test_other_actions_on_an_issue_ask_nothing(action: str) -> None:
    """Its body was read when it was opened."""
    assert event("issues", issue_payload(action)).text == ""


def test_the_time_of_a_pin_is_its_own() -> None:
    """Pinning leaves the comment's `updated_at` alone; for `unpinned` the issue's time is the nearest."""
    payload = comment_payload(pin={"pinned_at": "2025-11-04T08:00:00Z"}) | {"action": "pinned"}
    assert event("issue_comment", payload).at == datetime(2025, 11, 4, 8, tzinfo=UTC)
    payload["comment"]["pin"] = None
    payload["issue"]["updated_at"] = "2025-11-05T08:00:00Z"
    assert event("issue_comment", payload | {"action": "unpinned"}).at == datetime(2025, 11, 5, 8, tzinfo=UTC)


def test_a_label_is_a_field() -> None:
    """Templates may name it."""
    assert event("issues", issue_payload("labeled", label={"name": "ready"})).fields == {"label": "ready"}
    assert event("issues", issue_payload("labeled", label=None)).fields == {}


def test_a_null_sender_and_a_missing_installation() -> None:
    """A deleted account is the ghost; a webhook of a repository has no installation."""
    payload = comment_payload() | {"sender": None}
    del payload["installation"]
    found = event("issue_comment", payload)
    assert (found.sender.id, found.sender.login, found.installation_id) == (0, "ghost", 0)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("star", {}, "unknown event star"),
        ("issue_comment", {"action": "invented"}, "unknown action of issue_comment"),
        ("issue_comment", {"action": None}, "unknown action of issue_comment"),
        ("issue_comment", {"comment": None}, "unreadable issue_comment: comment: not an object"),
        ("issue_comment", {"issue": {}}, "unreadable issue_comment: "),
        ("issue_comment", {"repository": {"id": 1}}, "unreadable issue_comment: repository: no owner"),
        ("issues", {"action": "edited"}, "a comment's body under the header of an issue"),
    ],
)
def test_what_means_nothing_has_a_reason(name: str, change: dict[str, Any], reason: str) -> None:
    """The reason is kept with the delivery."""
    found = normalise(name, comment_payload() | change)
    assert isinstance(found, Ignored)
    assert found.reason.startswith(reason)


def paths(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(value, dict):
        return []
    return [each for key, inner in value.items() for each in ((*path, key), *paths(inner, (*path, key)))]


WHOLE = comment_payload(pin={"pinned_at": "2025-11-04T08:00:00Z"}) | {"changes": {"body": {"from": "x"}}}
JSON: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({})
)


PULL = {
    "number": 3,
    "html_url": "https://x.test/pull/3",
    "merged": True,
    "merged_at": "2025-11-04T08:00:00Z",
    "merge_commit_sha": "cd" * 20,
    "updated_at": "2025-11-04T08:00:00Z",
}
CHECK = {
    "id": 5,
    "head_sha": "ab" * 20,
    "conclusion": "success",
    "completed_at": "2025-11-04T08:00:00Z",
    "html_url": "https://x.test/runs/5",
    "app": {"id": 7},
    "pull_requests": [{"number": 3, "head": {"sha": "ab" * 20}}],
}
WHOLE |= {"pull_request": PULL, "check_run": CHECK, "check_suite": CHECK, "label": {"name": "ready"}}


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(sorted(HANDLED)),
    st.sampled_from(sorted({action for actions in HANDLED.values() for action in actions})),
    st.lists(st.tuples(st.sampled_from(paths(WHOLE)), JSON), max_size=3),
)
def test_no_payload_raises(name: str, action: str, changes: list[tuple[tuple[str, ...], Any]]) -> None:
    """Any value in any place gives an event or a reason."""
    payload = copy.deepcopy(WHOLE) | {"action": action}
    for path, value in changes:
        place: Any = payload
        for key in path[:-1]:
            place = place.get(key, {}) if isinstance(place, dict) else {}
        if isinstance(place, dict):
            place[path[-1]] = value
    assert isinstance(normalise(name, payload), Event | Signal | Ignored)


@pytest.mark.parametrize(
    ("name", "action", "told", "fields"),
    [
        ("pull_request", "closed", "merged", {"sha": "cd" * 20, "actor": "ana", "url": "https://x.test/pull/3"}),
        ("pull_request", "labeled", "labeled", {"label": "ready", "actor": "ana", "url": "https://x.test/pull/3"}),
        (
            "check_run",
            "completed",
            "checks_completed",
            {"sha": "ab" * 20, "conclusion": "success", "actor": "ana", "url": "https://x.test/runs/5"},
        ),
    ],
)
def test_signals(name: str, action: str, told: str, fields: dict[str, str]) -> None:
    """What only a run that waits has a use for: its threads, GitHub's time, flat fields."""
    found = normalise(name, WHOLE | {"action": action})
    assert isinstance(found, Signal)
    assert (found.event, found.numbers, found.fields) == (told, (3,), fields)
    assert (found.at, found.installation_id) == (datetime(2025, 11, 4, 8, tzinfo=UTC), 9)
    assert (found.sha, found.app_id) == (("ab" * 20, 7) if name == "check_run" else ("", None))


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("check_run", {"pull_requests": []}, "a check of no open pull request's head"),
        ("check_run", {"pull_requests": [{"number": 3, "head": {"sha": "ef" * 20}}]}, "a check of no open pull"),
        ("check_run", {"head_sha": None}, "unreadable check_run: no check"),
        ("pull_request", {"merged": False}, "closed without being merged"),
        ("pull_request", {"number": None}, "unreadable pull_request: pull request: no number"),
    ],
)
def test_what_is_no_signal(name: str, change: dict[str, Any], reason: str) -> None:
    """With the reason."""
    whole: dict[str, Any] = WHOLE[name] | change
    found = normalise(name, WHOLE | {name: whole, "action": "completed" if name == "check_run" else "closed"})
    assert isinstance(found, Ignored)
    assert found.reason.startswith(reason)


def test_events_that_are_signals() -> None:
    """A new comment and a label; an edit, a deletion and an issue that is opened are none."""
    told = signal_of(event("issue_comment", comment_payload("hello")))
    assert told is not None
    assert (told.event, told.numbers, told.fields["comment_id"], told.fields["actor"]) == (
        "comment",
        (3,),
        "501",
        "ana",
    )
    label = signal_of(event("issues", issue_payload("labeled", label={"name": "ready"})))
    assert label is not None
    assert (label.event, label.fields["label"]) == ("labeled", "ready")
    for action in ("edited", "deleted"):
        assert signal_of(event("issue_comment", comment_payload() | {"action": action})) is None
    assert signal_of(event("issues", issue_payload("opened"))) is None


def test_the_published_examples() -> None:
    """Each of GitHub's 329 example payloads is an event with the payload's own fields, or ignored with a reason."""
    count = events = 0
    for name, payload in examples():
        count += 1
        found = normalise(name, payload)
        if isinstance(found, Ignored):
            expected = found.reason in ("closed without being merged", "a check of no open pull request's head")
            assert expected or payload.get("action") not in HANDLED.get(name, ()), (name, found.reason)
            continue
        if isinstance(found, Signal):
            assert name in ("pull_request", "check_run", "check_suite")
            assert found.repository.id == payload["repository"]["id"]
            assert found.fields["actor"] == payload["sender"]["login"]
            assert found.numbers
            continue
        events += 1
        issue, comment = payload["issue"], payload.get("comment")
        assert (found.name, found.action) == (name, payload["action"])
        assert (found.repository.id, found.repository.full_name) == (
            (payload["repository"]["id"], payload["repository"]["full_name"])
        )
        assert (found.issue.id, found.issue.number, found.issue.title) == (issue["id"], issue["number"], issue["title"])
        assert (found.sender.id, found.sender.login) == (payload["sender"]["id"], payload["sender"]["login"])
        assert found.installation_id == payload.get("installation", {}).get("id", 0)
        assert (found.comment.id if found.comment else None) == (comment["id"] if comment else None)
        assert found.subject == ("comment" if comment else "issue")
        if found.action in ("created", "edited"):
            assert found.text == (comment or issue)["body"]
        if found.action == "edited" and "body" in payload["changes"]:
            assert found.old_text == payload["changes"]["body"]["from"]
    assert count == 329
    assert events > 20
