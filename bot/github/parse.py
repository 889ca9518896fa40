"""GitHub's JSON → our nouns, for REST answers and webhook payloads alike.

Only the fields that the bot uses are read, and each as leniently as is safe: GitHub's own example payloads leave many
of them out. What cannot be read at all raises `Unreadable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import httpx

from bot.model.role import Role
from bot.model.thread import GHOST, Account, Comment, Issue, Repository, ReviewPlace

Kind = Literal["comment", "review", "review_comment"]


class Unreadable(ValueError):
    """The JSON lacks something that its noun cannot be without; the message names it."""


def account(data: Any) -> Account:
    """A user, organisation or bot. Null (a deleted account) is `GHOST`."""
    if data is None:
        return GHOST
    source = _object(data, "account")
    # a push payload's owner has its login under `name` in old payloads; an enterprise has a slug
    login = source.get("login") or source.get("name") or source.get("slug")
    if not isinstance(login, str):
        raise Unreadable("account: no login")
    return Account(_number(source, "id", "account"), login, _text(source.get("type")) or "User")


def repository(data: Any) -> Repository:
    """A repository, from an answer or from a payload's `repository`."""
    source = _object(data, "repository")
    if not isinstance(source.get("owner"), Mapping):
        raise Unreadable("repository: no owner")
    name = source.get("name")
    if not isinstance(name, str) or not name:
        raise Unreadable("repository: no name")
    return Repository(
        id=_number(source, "id", "repository"),
        owner=account(source["owner"]),
        name=name,
        default_branch=_text(source.get("default_branch")) or "main",
        private=source.get("private") is True,
        archived=source.get("archived") is True,
    )


def comment(data: Any, kind: Kind = "comment") -> Comment:
    """A comment, a review (`submitted_at` is its time) or a review comment."""
    source = _object(data, "comment")
    created = timestamp(
        source.get("created_at") or source.get("submitted_at") or source.get("updated_at"), "created_at"
    )
    return Comment(
        id=_number(source, "id", "comment"),
        author=account(source.get("user")),
        body=_text(source.get("body")),
        created_at=created,
        updated_at=timestamp(source["updated_at"], "updated_at") if source.get("updated_at") else created,
        url=_text(source.get("html_url")),
        # `minimized` is an object with the reason, `pin` one with who and when
        minimized=bool(source.get("minimized")),
        pinned=bool(source.get("pin") or source.get("pinned")),
        app_id=_app_id(source),
        kind=kind,
        place=_place(source) if kind == "review_comment" else None,
        # in capitals in answers, in small letters in payloads
        review_state=_text(source.get("state")).upper() if kind == "review" else "",
        node_id=_text(source.get("node_id")),
    )


def review_comment(data: Any) -> Comment:
    """A comment about lines of a diff."""
    return comment(data, "review_comment")


def review(data: Any) -> Comment:
    """A review, in the shape of a comment."""
    return comment(data, "review")


def submitted(data: Any) -> list[Comment]:
    """The reviews of a listing; one that is still being written has no time, and is nobody's business."""
    if not isinstance(data, list):
        raise Unreadable("reviews: not a list")
    return [review(item) for item in data if _object(item, "review").get("submitted_at")]


def issue(data: Any) -> Issue:
    """An issue, or a pull request in either of its shapes (`issue.pull_request`, or a payload's `pull_request`)."""
    source = _object(data, "issue")
    created = timestamp(source.get("created_at"), "created_at")
    pinned = source.get("pinned_comment")
    return Issue(
        id=_number(source, "id", "issue"),
        number=_number(source, "number", "issue"),
        title=_text(source.get("title")),
        body=_text(source.get("body")),
        author=account(source.get("user")),
        state=_text(source.get("state")) or "open",
        url=_text(source.get("html_url")),
        labels=tuple(_labels(source.get("labels"))),
        created_at=created,
        updated_at=timestamp(source["updated_at"], "updated_at") if source.get("updated_at") else created,
        comment_count=_count(source.get("comments")),
        is_pull_request=bool(source.get("pull_request")) or isinstance(source.get("head"), Mapping),
        locked=source.get("locked") is True,
        pinned_comment=comment(pinned) if isinstance(pinned, Mapping) else None,
    )


def role(data: Any, account_id: int | None = None) -> Role:
    """The effective role from `GET …/collaborators/{login}/permission`; none where it is of another account than that.

    `role_name` tells triage and maintain apart; an organisation's own role has a name of its own, and then the legacy
    `permission` (admin, write, read, none) counts. What is neither is no role: this decides who may command.
    Source: https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user
    """
    source = _object(data, "permission")
    user = source.get("user")
    if account_id is not None and isinstance(user, Mapping) and user.get("id") not in (None, account_id):
        return Role.NONE
    for key in ("role_name", "permission"):
        value = source.get(key)
        if isinstance(value, str) and value in set(Role):
            return Role(value)
    return Role.NONE


def timestamp(value: Any, key: str = "timestamp") -> datetime:
    """A time in UTC from ISO 8601, with or without fractions, or from the seconds that push payloads carry.

    `key` is GitHub's name for it, which stands in what is raised.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, UTC)
        except (ValueError, OverflowError, OSError):
            raise Unreadable(f"{key}: {value} is out of range") from None
    if not isinstance(value, str):
        raise Unreadable(f"{key}: missing")
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise Unreadable(f"{key}: cannot read {value[:40]!r}") from None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def _object(data: Any, noun: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise Unreadable(f"{noun}: not an object")
    return data


def _number(source: Mapping[str, Any], key: str, noun: str) -> int:
    value = source.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unreadable(f"{noun}: no {key}")
    return value


def _count(value: Any) -> int:
    # in a pull request's review payload `comments` may be missing
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:
        # a lone surrogate, possible in JSON's escapes: no database and no pipe takes it
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _labels(value: Any) -> list[str]:
    items = value if isinstance(value, list) else []
    names = (item.get("name") if isinstance(item, Mapping) else item for item in items)
    return [name for name in map(_text, names) if name]


def _place(source: Mapping[str, Any]) -> ReviewPlace | None:
    """Where a review comment stands; None where the JSON does not say (GitHub's examples of old versions)."""
    path, line = _text(source.get("path")), source.get("line")
    if not path:
        return None
    if line is None:
        # the diff has moved on
        line = source.get("original_line")
    root, review = source.get("in_reply_to_id"), source.get("pull_request_review_id")
    return ReviewPlace(
        path=path,
        line=line if isinstance(line, int) else None,
        side="LEFT" if source.get("side") == "LEFT" else "RIGHT",
        hunk=_text(source.get("diff_hunk")),
        root_id=root if isinstance(root, int) else _number(source, "id", "comment"),
        review_id=review if isinstance(review, int) else None,
    )


def _app_id(source: Mapping[str, Any]) -> int | None:
    app = source.get("performed_via_github_app")
    number = app.get("id") if isinstance(app, Mapping) else None
    return number if isinstance(number, int) else None


def reaction_id(response: httpx.Response) -> int | None:
    """GitHub's number of a reaction that was put somewhere; None where the answer does not tell it."""
    try:
        return int(response.json()["id"])
    except (ValueError, TypeError, KeyError):
        return None
