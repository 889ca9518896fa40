"""GitHub's JSON → nouns."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.github import parse
from bot.model.role import Role
from bot.model.thread import GHOST, Account
from tests.github.fake import comment_json, issue_json

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-03-01T12:00:00Z", NOON),
        ("2026-03-01T12:00:00.250Z", NOON.replace(microsecond=250_000)),
        ("2026-03-01T14:00:00+02:00", NOON),
        ("2026-03-01T12:00:00", NOON),
        (int(NOON.timestamp()), NOON),
    ],
)
def test_timestamp(value: Any, expected: datetime) -> None:
    """With and without fractions, offsets, and the seconds of push payloads; always in UTC."""
    parsed = parse.timestamp(value)
    assert parsed == expected
    assert parsed.tzinfo is UTC


@pytest.mark.parametrize("value", [None, "", "soon", True, 10**30, 1.5, {}])
def test_timestamp_unreadable(value: Any) -> None:
    """Anything else is one kind of error."""
    with pytest.raises(parse.Unreadable):
        parse.timestamp(value)


def test_account() -> None:
    """A person, a bot, and nobody."""
    assert parse.account({"id": 3, "login": "sam"}) == Account(3, "sam", "User")
    assert parse.account({"id": 4, "login": "x[bot]", "type": "Bot"}).is_bot
    assert parse.account(None) is GHOST


@pytest.mark.parametrize(
    "data", ["meg", {"id": 1}, {"login": "meg"}, {"id": "1", "login": "meg"}, {"id": True, "login": "x"}]
)
def test_account_unreadable(data: Any) -> None:
    """No id or no login: not an account."""
    with pytest.raises(parse.Unreadable):
        parse.account(data)


def test_repository() -> None:
    """Names, ids and what git starts from."""
    owner = {"id": 1, "login": "ana", "type": "Organization"}
    full = parse.repository({"id": 7, "name": "parser", "owner": owner, "default_branch": "trunk", "private": True})
    assert (full.id, full.full_name, full.default_branch, full.private) == (7, "ana/parser", "trunk", True)
    bare = parse.repository({"id": 7, "name": "parser", "owner": owner})
    assert (bare.default_branch, bare.private) == ("main", False)


@pytest.mark.parametrize("owner", [None, "ana"])
def test_repository_needs_an_owner(owner: Any) -> None:
    """Its owner decides whether it is served: never a ghost."""
    with pytest.raises(parse.Unreadable):
        parse.repository({"id": 7, "name": "parser", "owner": owner})


def test_comment() -> None:
    """Every field that the bot uses."""
    parsed = parse.comment(comment_json(5, updated_at="2026-03-01T11:00:00Z"))
    assert (parsed.id, parsed.author, parsed.body) == (5, Account(11, "meg"), "comment 5")
    assert (parsed.created_at.hour, parsed.updated_at.hour) == (10, 11)
    assert parsed.url.endswith("#issuecomment-5")
    assert (parsed.minimized, parsed.pinned, parsed.role, parsed.app_id, parsed.kind) == (
        False, False, None, None, "comment",
    )  # fmt: skip


def test_comment_by_nobody() -> None:
    """A null user is a ghost, a null body is empty."""
    parsed = parse.comment(comment_json(user=None, body=None))
    assert (parsed.author, parsed.body) == (GHOST, "")


@pytest.mark.parametrize(
    ("fields", "pinned", "minimized"),
    [
        ({"pin": {"pinned_at": "2026-03-01T10:00:00Z", "pinned_by": None}}, True, False),
        ({"pinned": True}, True, False),
        ({"pin": None, "minimized": None}, False, False),
        ({"minimized": {"reason": "spam"}}, False, True),
        ({"minimized": {"reason": None}}, False, True),
        ({"minimized": True}, False, True),
    ],
)
def test_comment_pin_and_minimized(fields: dict[str, Any], pinned: bool, minimized: bool) -> None:
    """Objects as in GitHub's description, flags as in older payloads."""
    parsed = parse.comment(comment_json(**fields))
    assert (parsed.pinned, parsed.minimized) == (pinned, minimized)


def test_comment_by_an_app() -> None:
    """`performed_via_github_app` names the App."""
    assert parse.comment(comment_json(performed_via_github_app={"id": 42})).app_id == 42
    assert parse.comment(comment_json(performed_via_github_app=None)).app_id is None


def test_review_has_its_own_time() -> None:
    """A review has `submitted_at` alone."""
    data = comment_json(submitted_at="2026-03-01T08:00:00Z")
    del data["created_at"], data["updated_at"]
    parsed = parse.comment(data, "review")
    assert parsed.created_at.hour == parsed.updated_at.hour == 8
    assert parsed.kind == "review"


def test_lone_surrogates_do_not_get_in() -> None:
    """No database takes them; whole pairs and everything else stay."""
    assert parse.comment(comment_json(body="a\ud800b 👩‍💻 é\r\n")).body == "a\ufffdb 👩‍💻 é\r\n"


def test_issue() -> None:
    """Every field that the bot uses."""
    parsed = parse.issue(issue_json(9, locked=True))
    assert (parsed.id, parsed.number, parsed.title, parsed.body) == (909, 9, "It crashes", "See log")
    assert (parsed.labels, parsed.comment_count, parsed.state) == (("bug",), 3, "open")
    assert (parsed.locked, parsed.is_pull_request, parsed.pinned_comment) == (True, False, None)
    assert (parsed.created_at.hour, parsed.updated_at.hour) == (9, 10)


def test_issue_with_pinned_comment() -> None:
    """GitHub's own pinned comment comes with the issue."""
    pinned = parse.issue(issue_json(pinned_comment=comment_json(77))).pinned_comment
    assert pinned is not None
    assert pinned.id == 77


@pytest.mark.parametrize("fields", [{"pull_request": {"url": "x"}}, {"head": {"sha": "1"}, "base": {}}])
def test_issue_that_is_a_pull_request(fields: dict[str, Any]) -> None:
    """In the shape of an issue, and in that of a pull request payload."""
    assert parse.issue(issue_json(**fields)).is_pull_request


def test_issue_labels_in_both_shapes() -> None:
    """Objects or bare names; nameless ones are left out."""
    assert parse.issue(issue_json(labels=[{"name": "a"}, "b", {"name": None}, 3])).labels == ("a", "b")
    assert parse.issue(issue_json(labels=None)).labels == ()


@pytest.mark.parametrize("key", ["id", "number", "created_at"])
def test_issue_unreadable(key: str) -> None:
    """What it cannot be without."""
    data = issue_json()
    del data[key]
    with pytest.raises(parse.Unreadable):
        parse.issue(data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"role_name": "maintain", "permission": "write"}, Role.MAINTAIN),
        ({"role_name": "triage", "permission": "read"}, Role.TRIAGE),
        ({"role_name": "release-captain", "permission": "write"}, Role.WRITE),
        ({"permission": "admin"}, Role.ADMIN),
        ({"role_name": "none", "permission": "none"}, Role.NONE),
        ({"role_name": "Owner", "permission": "everything"}, Role.NONE),
        ({}, Role.NONE),
    ],
)
def test_role(data: dict[str, str], expected: Role) -> None:
    """The role by name, the legacy permission for an organisation's own roles, and none for everything else."""
    assert parse.role(data) is expected


@pytest.mark.parametrize(
    ("user", "expected"), [(None, Role.ADMIN), ({"id": 11}, Role.ADMIN), ({}, Role.ADMIN), ({"id": 12}, Role.NONE)]
)
def test_a_role_is_an_accounts(user: dict[str, int] | None, expected: Role) -> None:
    """A login that was given up may be another's by now."""
    assert parse.role({"role_name": "admin", "user": user}, 11) is expected
    assert parse.role({"role_name": "admin", "user": user}) is Role.ADMIN


def test_role_unreadable() -> None:
    """An answer that is no object is no answer about a role."""
    with pytest.raises(parse.Unreadable):
        parse.role([])


@pytest.mark.parametrize(
    ("read", "key"), [(parse.issue, "created_at"), (parse.comment, "created_at"), (parse.timestamp, "timestamp")]
)
@pytest.mark.parametrize(("value", "fault"), [(None, "missing"), ("soon", "cannot read 'soon'")])
def test_a_time_that_cannot_be_read_is_named(
    read: Callable[[Any], object], key: str, value: str | None, fault: str
) -> None:
    """By GitHub's own key: it stands in the record of the delivery."""
    given = value if read is parse.timestamp else {"id": 1, "number": 1, "created_at": value}
    with pytest.raises(parse.Unreadable, match=f"^{key}: {fault}"):
        read(given)
