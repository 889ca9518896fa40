"""Payloads and answers about reviews of pull request 1, which the App opened unless told otherwise."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bot.model.thread import Account
from tests.dispatch.scene import ME, REPO, Scene, account_json, around, issue_fields, stamp
from tests.github.fake import answer
from tests.rows import ANA, NOW, REPOSITORY

SITE = "https://github.test/acme/widgets/pull/1"
HUNK = "@@ -1,2 +1,2 @@\n def parse_size(text):\n+    return int(text or 0)"


def pull_fields(author: Account = ME) -> dict[str, Any]:
    """A payload's `pull_request`."""
    fields = {key: value for key, value in issue_fields().items() if key != "comments"}
    repo = {"id": REPOSITORY.id, "name": REPOSITORY.name}
    return fields | {
        "html_url": SITE,
        "user": account_json(author),
        "head": {"ref": "bot/7-size", "sha": "a" * 40, "repo": repo},
        "base": {"ref": "main", "sha": "b" * 40, "repo": repo},
        "draft": True,
        "merged_at": None,
    }


def review_payload(
    body: str | None,
    sender: Account = ANA,
    *,
    state: str = "changes_requested",
    action: str = "submitted",
    review_id: int = 700,
    author: Account = ME,
    at: datetime = NOW,
    old: str | None = None,
) -> dict[str, Any]:
    """A `pull_request_review` payload."""
    payload: dict[str, Any] = {
        "action": action,
        "review": {
            "id": review_id,
            "node_id": f"PRR_{review_id}",
            "user": account_json(sender),
            "body": body,
            "state": state,
            "html_url": f"{SITE}#pullrequestreview-{review_id}",
            "commit_id": "a" * 40,
            "submitted_at": stamp(at),
        },
        "pull_request": pull_fields(author),
        **around(sender),
    }
    if old is not None:
        payload["changes"] = {"body": {"from": old}}
    return payload


def remark_json(
    number: int, body: str, author: Account = ANA, *, review_id: int = 700, root: int | None = None,
    path: str = "src/size.py", line: int | None = 2, at: datetime = NOW,
) -> dict[str, Any]:  # fmt: skip
    """A review comment, in an answer or in a payload."""
    return {
        "id": number,
        "node_id": f"PRRC_{number}",
        "user": account_json(author),
        "body": body,
        "path": path,
        "line": line,
        "side": "RIGHT",
        "diff_hunk": HUNK,
        "pull_request_review_id": review_id,
        "html_url": f"{SITE}#discussion_r{number}",
        "created_at": stamp(at),
        "updated_at": stamp(at),
        **({} if root is None else {"in_reply_to_id": root}),
    }


def remark_payload(
    body: str, sender: Account = ANA, *, number: int = 801, action: str = "created", old: str | None = None, **more: Any
) -> dict[str, Any]:
    """A `pull_request_review_comment` payload; `more` are those of `remark_json`."""
    author = more.pop("author", sender)
    payload = {
        "action": action,
        "comment": remark_json(number, body, author, **more),
        "pull_request": pull_fields(),
        **around(sender),
    }
    if old is not None:
        payload["changes"] = {"body": {"from": old}}
    return payload


def has_remarks(scene: Scene, *remarks: dict[str, Any], review_id: int = 700) -> None:
    """GitHub lists these as the comments of a review."""
    scene.server.on("GET", f"{REPO}/pulls/1/reviews/{review_id}/comments", answer(list(remarks)))


def has_state(scene: Scene, state: str = "CHANGES_REQUESTED", review_id: int = 700) -> None:
    """GitHub shows what a review comes to."""
    found = {"id": review_id, "state": state, "user": account_json(ANA), "body": "", "submitted_at": stamp(NOW)}
    scene.server.on("GET", f"{REPO}/pulls/1/reviews/{review_id}", answer(found))


async def reviews(scene: Scene, body: str | None, sender: Account = ANA, **more: Any) -> str:
    """Somebody submits a review; returns when nothing is left to do now."""
    guid = await scene.deliver(review_payload(body, sender, **more), "pull_request_review")
    await scene.settle()
    return guid


async def remarks(scene: Scene, body: str, sender: Account = ANA, **more: Any) -> str:
    """Somebody comments on a line; returns when nothing is left to do now."""
    guid = await scene.deliver(remark_payload(body, sender, **more), "pull_request_review_comment")
    await scene.settle()
    return guid
