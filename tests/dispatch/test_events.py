"""Payload → event: the fields that matter, and a reason for what means nothing."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.dispatch.events import Ignored, normalise, signal_of
from bot.model.event import HANDLED, Event, Notice, PullState, Signal
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
    "id": 9,
    "number": 3,
    "title": "Mend it",
    "body": "@bot look",
    "user": {"id": 12, "login": "meg", "type": "User"},
    "state": "closed",
    "html_url": "https://x.test/pull/3",
    "labels": [{"name": "bug"}],
    "comments": 2,
    "head": {"ref": "topic", "sha": "ab" * 20, "repo": {"id": 101}},
    "base": {"ref": "main", "sha": "ef" * 20, "repo": {"id": 101}},
    "draft": False,
    "merged": True,
    "merged_at": "2025-11-04T08:00:00Z",
    "merge_commit_sha": "cd" * 20,
    "created_at": "2025-11-03T08:00:00Z",
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
PUSH = {
    "ref": "refs/heads/main",
    "before": "ab" * 20,
    "after": "cd" * 20,
    "forced": False,
    "head_commit": {"timestamp": "2025-11-04T08:00:00Z"},
    "commits": [{"added": [], "removed": [], "modified": ["README.md", ".github/bot.yml"]}],
}
WHOLE |= PUSH | {"pull_request": PULL, "check_run": CHECK, "check_suite": CHECK, "label": {"name": "ready"}}


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
    assert isinstance(normalise(name, payload), Event | Signal | Notice | Ignored)


def test_signals() -> None:
    """What is on no thread of its own: its threads, GitHub's time, flat fields."""
    found = normalise("check_run", WHOLE | {"action": "completed"})
    assert isinstance(found, Signal)
    told = {"sha": "ab" * 20, "conclusion": "success", "actor": "ana", "url": "https://x.test/runs/5"}
    assert (found.event, found.numbers, found.fields) == ("checks_completed", (3,), told)
    assert (found.at, found.installation_id) == (datetime(2025, 11, 4, 8, tzinfo=UTC), 9)
    assert (found.sha, found.app_id) == ("ab" * 20, 7)


HEAD = {"sha": "ab" * 20}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pull_requests": []}, "a check of no open pull request's head"),
        ({"pull_requests": [{"number": 3, "head": {"sha": "ef" * 20}}]}, "a check of no open pull"),
        ({"pull_requests": [{"number": 3, "head": HEAD, "base": {"repo": {"id": 7}}}]}, "a check of no open pull"),
        ({"head_sha": None}, "unreadable check_run: no check"),
    ],
)
def test_what_is_no_signal(change: dict[str, Any], reason: str) -> None:
    """With the reason; a pull request of another repository may have the same head."""
    found = normalise("check_run", WHOLE | {"check_run": CHECK | change, "action": "completed"})
    assert isinstance(found, Ignored)
    assert found.reason.startswith(reason)


def pull_event(action: str, **more: Any) -> Event:
    payload = {key: value for key, value in WHOLE.items() if key not in ("comment", "issue", "changes")}
    return event("pull_request", payload | {"action": action} | more)


def test_a_pull_request_is_a_thread() -> None:
    """With its branches, and what it says about itself."""
    found = pull_event("synchronize", label=None)
    assert (found.name, found.action, found.subject, found.comment) == ("pull_request", "synchronize", "issue", None)
    issue = found.issue
    assert (issue.number, issue.title, issue.is_pull_request, issue.comment_count) == (3, "Mend it", True, 2)
    assert found.pull is not None
    author = found.pull.author
    assert author.login == "meg"
    assert found.pull == PullState("topic", "ab" * 20, "main", author, merged=True, head_repository=101)
    assert found.fields == {"sha": "ab" * 20, "ref": "topic"}


def test_a_pull_request_in_its_oldest_shape() -> None:
    """Whatever is missing but its number: it is one all the same."""
    found = pull_event("closed", pull_request={"id": 9, "number": 3, "user": None, "created_at": PULL["created_at"]})
    assert found.issue.is_pull_request
    assert found.pull is not None
    assert (found.pull.head_sha, found.pull.head_repository, found.pull.merged) == ("", None, False)


@pytest.mark.parametrize("action", sorted(HANDLED["pull_request"]))
def test_what_may_ask_for_something_in_a_pull_request(action: str) -> None:
    """Its body as an issue's: when it was opened or edited; the title never."""
    found = pull_event(action, changes={"body": {"from": "look"}})
    assert found.text == ("@bot look" if action in ("opened", "edited") else "")
    assert found.old_text == ("look" if action == "edited" else None)


def test_when_it_happened_to_a_pull_request() -> None:
    """Its own times where it has them."""
    ats = {action: pull_event(action).at for action in ("opened", "closed", "labeled")}
    open_, closed = datetime(2025, 11, 3, 8, tzinfo=UTC), datetime(2025, 11, 4, 8, tzinfo=UTC)
    assert ats == {"opened": open_, "closed": closed, "labeled": closed}


@pytest.mark.parametrize("action", ["closed", "labeled", "opened", "synchronize"])
@pytest.mark.parametrize("merged", [True, False])
def test_what_a_pull_request_tells_those_who_wait(action: str, merged: bool) -> None:
    """A merge with its commit, a label with its name; nothing else."""
    change = {} if merged else {"merged": False, "merged_at": None}
    signal = signal_of(pull_event(action, pull_request=PULL | change))
    told = {"actor": "ana", "url": "https://x.test/pull/3"}
    wanted: tuple[str, dict[str, str]] | None = None
    if action == "labeled":
        wanted = ("labeled", {"label": "ready", **told})
    elif action == "closed" and merged:
        wanted = ("merged", {"sha": "cd" * 20, **told})
    assert (signal and (signal.event, signal.fields)) == wanted
    assert signal is None or signal.numbers == (3,)


@pytest.mark.parametrize(
    ("change", "touches"),
    [
        ({}, True),
        ({"commits": [{"modified": ["README.md"]}]}, False),
        ({"commits": [{"modified": ["README.md"]}, {"removed": [".github/bot/workflows/x.yml"]}]}, True),
        ({"commits": [{"added": [".github/bot/prompts/x.md"]}]}, True),
        ({"commits": [{"added": ["docs/.github/bot.yml", ".github/bottle.md"]}]}, False),
        ({"commits": []}, True),
        ({"forced": True, "commits": [{"modified": ["README.md"]}]}, True),
        ({"commits": [{"modified": ["README.md"]}] * 2048}, True),
    ],
)
def test_a_push(change: dict[str, Any], touches: bool) -> None:
    """Whether it may have changed the configuration; what GitHub does not list may have."""
    payload = comment_payload()
    del payload["comment"], payload["issue"], payload["action"]
    found = normalise("push", payload | PUSH | change)
    assert isinstance(found, Notice)
    assert (found.fields["ref"], found.repositories[0].id, found.installation_id) == ("refs/heads/main", 101, 9)
    assert ("touches" in found.fields) is touches


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


_SUBJECTS = {"pull_request_review": "review", "pull_request_review_comment": "review_comment"}


def test_the_published_examples() -> None:
    """Each of GitHub's 329 example payloads is an event with the payload's own fields, or ignored with a reason."""
    count = events = 0
    for name, payload in examples():
        count += 1
        found = normalise(name, payload)
        if isinstance(found, Ignored):
            expected = found.reason == "a check of no open pull request's head"
            assert expected or payload.get("action", "") not in HANDLED.get(name, ()), (name, found.reason)
            continue
        if isinstance(found, Signal):
            assert name in ("check_run", "check_suite")
            assert found.repository.id == payload["repository"]["id"]
            assert found.fields["actor"] == payload["sender"]["login"]
            assert found.numbers
            continue
        if isinstance(found, Notice):
            named = payload.get("repositories_removed", [payload["repository"]] if "repository" in payload else [])
            assert [one.id for one in found.repositories] == [one["id"] for one in named]
            assert found.fields.get("after") == payload.get("after")
            continue
        events += 1
        issue = payload.get("issue") or payload["pull_request"]
        comment = payload.get("comment") or payload.get("review")
        assert (found.name, found.action) == (name, payload["action"])
        assert (found.repository.id, found.repository.full_name) == (
            (payload["repository"]["id"], payload["repository"]["full_name"])
        )
        assert (found.issue.id, found.issue.number, found.issue.title) == (issue["id"], issue["number"], issue["title"])
        assert (found.sender.id, found.sender.login) == (payload["sender"]["id"], payload["sender"]["login"])
        assert found.installation_id == payload.get("installation", {}).get("id", 0)
        assert (found.comment.id if found.comment else None) == (comment["id"] if comment else None)
        assert found.subject == _SUBJECTS.get(name, "comment" if comment else "issue")
        assert found.issue.is_pull_request == ("pull_request" in payload or "pull_request" in issue)
        if found.action in ("created", "edited", "submitted"):
            assert found.text == ((comment or issue)["body"] or "")
        if found.action == "edited" and "body" in payload["changes"]:
            assert found.old_text == payload["changes"]["body"]["from"]
    assert count == 329
    assert events > 20
