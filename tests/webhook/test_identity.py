"""The content identity: what is the same request and what is not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from bot.model.event import HANDLED
from bot.webhook.identity import content_key, repository_id, subject
from tests.webhook.senders import comment_payload, examples

Change = Callable[[dict[str, Any]], object]


def label_payload(label: str) -> dict[str, Any]:
    payload = comment_payload()
    del payload["comment"]
    return payload | {"action": "labeled", "label": {"id": len(label), "name": label}}


def test_the_order_of_keys_does_not_matter() -> None:
    """GitHub's delivery log returns the payload as an object, not as the bytes that were sent."""
    payload = comment_payload() | {"changes": {"title": {"from": "y"}, "body": {"from": "x"}}}
    turned = json.loads(json.dumps(payload, sort_keys=True, indent=1))
    assert content_key(payload) == content_key(turned)


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.update(action="created"),
        lambda p: p["comment"].update(body="@bot status"),
        lambda p: p["comment"].update(id=502),
        lambda p: p["comment"].update(updated_at="2025-11-03T10:00:01Z"),
        lambda p: p["comment"].update(pin={"pinned_at": "2025-11-03T10:00:01Z"}),
        lambda p: p["issue"].update(updated_at="2025-11-03T10:00:01Z"),
        lambda p: p["repository"].update(id=102),
        lambda p: p.update(changes={"body": {"from": "before"}}),
        lambda p: p.update(assignee={"id": 1}),
        lambda p: p.pop("comment"),
    ],
)
def test_each_part_tells_requests_apart(change: Change) -> None:
    """Changing one part of the identity makes another request."""
    edited = comment_payload() | {"action": "edited"}
    changed = copy.deepcopy(edited)
    change(changed)
    assert content_key(changed) != content_key(edited)


BEGUN = [
    ("issue_comment", "comment", "created"),
    ("issues", "issue", "opened"),
    ("pull_request", "pull_request", "opened"),
]


@pytest.mark.parametrize(("event", "kind", "action"), BEGUN)
def test_what_begins_once_is_one_request(event: str, kind: str, action: str) -> None:
    """Whether a webhook tells it, the log, or the thread itself later: the same, whatever was edited since."""
    about: dict[str, Any] = {"id": 7, "body": "x", "updated_at": "2025-11-03"}
    told: dict[str, Any] = {"issue": about, "repository": {"id": 101}, "action": action, kind: about}
    if kind == "pull_request":
        del told["issue"]
    found = subject(told)
    assert found is not None
    assert found[0] == event
    edited = about | {"body": "y", "title": "z", "updated_at": "2025-11-04"}
    later = {key: edited if value is about else value for key, value in told.items()} | {"sender": {"id": 1}}
    assert content_key(later) == content_key(told)
    others: list[dict[str, Any]] = [{"action": "edited"}, {"repository": {"id": 102}}, {kind: about | {"id": 9}}]
    assert len({content_key(told), *(content_key(told | other) for other in others)}) == 4


def test_two_people_who_make_the_same_of_a_text_within_a_second() -> None:
    """Two ticks are two answers, though the first was taken back between them."""
    edited = comment_payload() | {"action": "edited", "changes": {"body": {"from": "before"}}}
    another = edited | {"sender": edited["sender"] | {"id": 4711}}
    assert content_key(another) != content_key(edited)


def test_names_are_no_part_of_it() -> None:
    """A renamed repository or account is the same one."""
    changed = copy.deepcopy(comment_payload())
    changed["repository"]["name"] = "gadgets"
    changed["sender"]["login"] = "meg"
    assert content_key(changed) == content_key(comment_payload())


def test_two_labels_of_one_second_are_two() -> None:
    """Only the label differs."""
    assert content_key(label_payload("bug")) != content_key(label_payload("ready"))
    assert content_key(label_payload("bug")) == content_key(label_payload("bug"))


def test_the_title_of_an_issue_counts() -> None:
    """Two edits of one second that differ in the title only are two."""
    edited = label_payload("bug") | {"action": "edited"}
    other = edited | {"issue": edited["issue"] | {"title": "Crash on start"}}
    assert content_key(edited) != content_key(other)


def test_ids_of_different_kinds_do_not_meet() -> None:
    """A discussion's comment may have the number of a commit's comment."""
    comment = comment_payload()
    del comment["issue"]
    assert content_key(comment) != content_key(comment | {"discussion": {}})


def test_without_subject_or_repository_the_whole_payload_counts() -> None:
    """A ping has neither; an id that is no number is none."""
    ping = {"zen": "Design for failure.", "hook_id": 1}
    assert content_key(ping) != content_key(ping | {"hook_id": 2})
    nowhere = comment_payload() | {"repository": None}
    assert content_key(nowhere) != content_key(nowhere | {"sender": None})
    assert repository_id(nowhere) is None
    assert [repository_id({"repository": {"id": number}}) for number in (0, -1, 1 << 63, "1")] == [None] * 4
    assert subject({"comment": {"id": "501"}, "issue": []}) is None


def test_odd_values_do_not_raise() -> None:
    """Whatever JSON holds, there is an identity."""
    odd = comment_payload(body={"a": [1]}, updated_at=5, title=None, pin=[]) | {"issue": 3, "action": ["x"]}
    assert len(content_key(odd)) == 64


def test_the_kind_comes_from_the_body() -> None:
    """Comments on issues, pull requests, discussions and commits have ids of their own kind."""
    comment = {"comment": {"id": 1}}
    assert subject(comment | {"issue": {"id": 2}}) == ("issue_comment", {"id": 1})
    kinds = {
        (found := subject(payload)) and found[0]
        for payload in (
            comment,
            comment | {"pull_request": {}},
            comment | {"discussion": {}},
            {"review": {"id": 1}, "pull_request": {"id": 2}},
            {"issue": {"id": 1}},
        )
    }
    assert kinds == {
        "commit_comment",
        "pull_request_review_comment",
        "discussion_comment",
        "pull_request_review",
        "issues",
    }


def test_the_examples_of_our_events_show_their_kind() -> None:
    """In each published payload of an event that we know the body says the same as the header."""
    for event, payload in examples():
        found = subject(payload)
        if event in HANDLED:
            assert found
            assert found[0] == event
        elif found:
            assert found[0] not in ("issues", "issue_comment") or event in ("sub_issues", "issue_dependencies")


def test_a_check_that_ends_twice() -> None:
    """It has no `updated_at`; when it ended tells two ends apart, and the same end is one request."""

    def ended(at: str) -> str:
        check = {"id": 5, "completed_at": at}
        return content_key({"action": "completed", "check_run": check, "repository": {"id": 501}})

    assert ended("2025-11-03T10:00:00Z") != ended("2025-11-03T10:05:00Z")
    assert ended("2025-11-03T10:00:00Z") == ended("2025-11-03T10:00:00Z")


PUSH = {
    "ref": "refs/heads/main",
    "before": "ab" * 20,
    "after": "cd" * 20,
    "commits": [],
    "repository": {"id": 501, "pushed_at": 1762160400},
}


def test_a_push_is_its_own_subject() -> None:
    """It has neither action nor id; branch, commits and time tell one from another."""
    found = subject(PUSH)
    assert found is not None
    assert found[0] == "push"
    keys = {content_key(PUSH)}
    for change in ({"ref": "refs/heads/x"}, {"before": "12" * 20}, {"after": "34" * 20}):
        keys.add(content_key(PUSH | change))
    keys.add(content_key(PUSH | {"repository": {"id": 501, "pushed_at": 1762160401}}))
    keys.add(content_key(PUSH | {"repository": {"id": 502, "pushed_at": 1762160400}}))
    assert len(keys) == 6
    assert content_key(PUSH | {"compare": "elsewhere"}) in keys
    assert subject({key: value for key, value in PUSH.items() if key != "after"}) is None


def test_two_pushes_to_a_pull_request_within_a_second() -> None:
    """Its `updated_at` is the same for both; the commit is not."""

    def pushed(after: str) -> str:
        pull = {"id": 5, "updated_at": "2025-11-03T10:00:00Z"}
        return content_key({"action": "synchronize", "pull_request": pull, "after": after, "repository": {"id": 501}})

    assert pushed("ab" * 20) != pushed("cd" * 20)
    assert pushed("ab" * 20) == pushed("ab" * 20)


def test_what_happens_to_a_repository_or_an_installation_is_its_own_subject() -> None:
    """Told by their bodies, since the header is not signed."""
    assert subject({"repository": {"id": 501}, "installation": {"id": 9}}) == ("repository", {"id": 501})
    assert subject({"installation": {"id": 9}}) == ("installation", {"id": 9})
    removed = {"installation": {"id": 9}, "repositories_removed": []}
    assert subject(removed) == ("installation_repositories", {"id": 9})
