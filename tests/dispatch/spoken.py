"""Every place where somebody can ask for something: payloads of each event, by any account.

Whoever sends an edit edits what somebody of the opposite rank wrote, so that a check of the author is told from one of
the sender.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.model.thread import Account
from tests.dispatch.matrix import ORDER, Actor
from tests.dispatch.scene import APP_ID, ME, MEG, SAM, account_json, around, issue_fields, stamp
from tests.rows import ANA, NOW

SHA = "ab" * 20
SITE = "https://github.test/acme/widgets"


@dataclass(frozen=True, slots=True)
class Place:
    """One event: the header it comes under, and its payload for a text, an actor and a thread's number."""

    event: str
    make: Callable[[str, Actor, int], dict[str, Any]]


def commented(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A new comment."""
    return {"action": "created", "issue": issue_fields(number), "comment": said(text, actor, number), **sent_by(actor)}


def edited_comment(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """Somebody adds the text to what another has written."""
    comment = said(f"Before.\n\n{text}", actor, number, author=opposite(actor))
    change = {"changes": {"body": {"from": "Before."}}}
    return {"action": "edited", "issue": issue_fields(number), "comment": comment, **sent_by(actor), **change}


def opened(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A new issue."""
    issue = issue_fields(number) | {"body": text, **signed(actor)}
    return {"action": "opened", "issue": issue, **sent_by(actor)}


def edited_issue(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """Somebody adds the text to the body of another's issue."""
    issue = issue_fields(number) | {"body": f"Before.\n\n{text}", "user": account_json(opposite(actor))}
    return {"action": "edited", "issue": issue, **sent_by(actor), "changes": {"body": {"from": "Before."}}}


def pull_opened(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A new pull request."""
    return {"action": "opened", "number": number, "pull_request": pull(number, text, actor), **sent_by(actor)}


def pull_edited(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """Somebody adds the text to the body of another's pull request."""
    fields = pull(number, f"Before.\n\n{text}", actor) | {"user": account_json(opposite(actor))}
    change = {"changes": {"body": {"from": "Before."}}}
    return {"action": "edited", "number": number, "pull_request": fields, **sent_by(actor), **change}


def reviewed(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A review with words of its own."""
    fields = review(text, number, actor.json, actor.association)
    return {"action": "submitted", "review": fields, "pull_request": pull(number, "", actor), **sent_by(actor)}


def edited_review(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """Somebody adds the text to another's review."""
    fields = review(f"Before.\n\n{text}", number, account_json(opposite(actor)), actor.association)
    change = {"changes": {"body": {"from": "Before."}}}
    return {"action": "edited", "review": fields, "pull_request": pull(number, "", actor), **sent_by(actor), **change}


def line_commented(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A new comment on a line of the diff."""
    comment = on_line(said(text, actor, number), number)
    return {"action": "created", "comment": comment, "pull_request": pull(number, "", actor), **sent_by(actor)}


def edited_line_comment(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """Somebody adds the text to another's comment on a line."""
    comment = on_line(said(f"Before.\n\n{text}", actor, number, author=opposite(actor)), number)
    change = {"changes": {"body": {"from": "Before."}}}
    return {"action": "edited", "comment": comment, "pull_request": pull(number, "", actor), **sent_by(actor), **change}


#: where what is said is heard
PLACES = {
    "a new comment": Place("issue_comment", commented),
    "an edited comment": Place("issue_comment", edited_comment),
    "a new issue": Place("issues", opened),
    "an edited issue": Place("issues", edited_issue),
    "a new pull request": Place("pull_request", pull_opened),
    "an edited pull request": Place("pull_request", pull_edited),
    "a review": Place("pull_request_review", reviewed),
    "an edited review": Place("pull_request_review", edited_review),
    "a comment on a line": Place("pull_request_review_comment", line_commented),
    "an edited comment on a line": Place("pull_request_review_comment", edited_line_comment),
}


def title_only(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A title asks for nothing, new or changed."""
    issue = issue_fields(number) | {"title": text, "body": "It crashes.", **signed(actor)}
    return {"action": "opened", "issue": issue, **sent_by(actor)}


def edited_title(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """An edit of the title, below which the body asks what it asked before."""
    issue = issue_fields(number) | {"title": text, "body": text, **signed(actor)}
    return {"action": "edited", "issue": issue, **sent_by(actor), "changes": {"title": {"from": "Before."}}}


def edited_around(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """An edit that adds words and no request."""
    comment = said(f"Hello.\n\n{text}", actor, number)
    change = {"changes": {"body": {"from": text}}}
    return {"action": "edited", "issue": issue_fields(number), "comment": comment, **sent_by(actor), **change}


def deleted_comment(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A comment that is gone."""
    return commented(text, actor, number) | {"action": "deleted"}


def pinned_comment(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """GitHub's own pin."""
    return commented(text, actor, number) | {"action": "pinned"}


def moved_in(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """An issue that came from another repository, where its body asked."""
    old = {"old_issue": issue_fields(7), "old_repository": around(ANA)["repository"]}
    return opened(text, actor, number) | {"changes": old}


def labeled(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A label that reads like a request."""
    issue = issue_fields(number) | {"body": text}
    return {"action": "labeled", "issue": issue, "label": {"name": text}, **sent_by(actor)}


def closed(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """An issue is closed below a body that asks."""
    return {"action": "closed", "issue": issue_fields(number) | {"body": text}, **sent_by(actor)}


def relabeled(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A label is set on a pull request."""
    return pull_opened(text, actor, number) | {"action": "labeled", "label": {"name": "ready"}}


def pushed(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A pull request has new commits."""
    return pull_opened(text, actor, number) | {"action": "synchronize", "before": "ef" * 20, "after": SHA}


def no_draft(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A draft is ready for review."""
    return pull_opened(text, actor, number) | {"action": "ready_for_review"}


def pull_closed(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A pull request is closed without being merged."""
    return pull_opened(text, actor, number) | {"action": "closed"}


#: what starts workflows without anybody's words
TRIGGERS = {
    "a new issue": Place("issues", opened),
    "a label": Place("issues", lambda text, actor, number: labeled("ready", actor, number)),
    "a closed issue": Place("issues", closed),
    "a new pull request": Place("pull_request", pull_opened),
    "a label on a pull request": Place("pull_request", relabeled),
    "a closed pull request": Place("pull_request", pull_closed),
    "a push": Place("pull_request", pushed),
    "no draft any more": Place("pull_request", no_draft),
    "a review": Place("pull_request_review", reviewed),
}


def changes_requested(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """Changes are requested on a pull request that the App has opened."""
    payload = reviewed(text, actor, number)
    payload["review"]["state"] = "changes_requested"
    payload["pull_request"]["user"] = account_json(ME)
    return payload


def dismissed(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A review is dismissed."""
    return reviewed(text, actor, number) | {"action": "dismissed"}


def deleted_line_comment(text: str, actor: Actor, number: int) -> dict[str, Any]:
    """A comment on a line is gone."""
    return line_commented(text, actor, number) | {"action": "deleted"}


#: where it is not, whoever says it
DEAF = {
    "a title": Place("issues", title_only),
    "an edited title": Place("issues", edited_title),
    "an edit around a request": Place("issue_comment", edited_around),
    "a deleted comment": Place("issue_comment", deleted_comment),
    "a pinned comment": Place("issue_comment", pinned_comment),
    "an issue that moved in": Place("issues", moved_in),
    "a label": Place("issues", labeled),
    "a closed issue": Place("issues", closed),
    "a label on a pull request": Place("pull_request", relabeled),
    "a closed pull request": Place("pull_request", pull_closed),
    "a push": Place("pull_request", pushed),
    "no draft any more": Place("pull_request", no_draft),
    "a dismissed review": Place("pull_request_review", dismissed),
    "a deleted comment on a line": Place("pull_request_review_comment", deleted_line_comment),
}


def sent_by(actor: Actor) -> dict[str, Any]:
    """What every payload has."""
    return around(ANA) | {"sender": actor.json}


def signed(actor: Actor) -> dict[str, Any]:
    """The author of what is new."""
    return {"user": actor.json, "author_association": actor.association}


def opposite(actor: Actor) -> Account:
    """Somebody who may command where `actor` may not, and the other way round."""
    return SAM if actor.kind != "person" or ORDER.index(actor.role) >= ORDER.index("write") else MEG


def said(text: str, actor: Actor, number: int, author: Account | None = None) -> dict[str, Any]:
    """A comment. What an App says carries the App."""
    app = {"id": APP_ID} if actor.kind.startswith("this App") else None
    return {
        "id": 500_000 + number,
        "body": text,
        "html_url": f"{SITE}/issues/{number}#issuecomment-{500_000 + number}",
        "created_at": stamp(NOW),
        "updated_at": stamp(NOW),
        "performed_via_github_app": app,
        **signed(actor),
        **({} if author is None else {"user": account_json(author)}),
    }


def on_line(comment: dict[str, Any], number: int) -> dict[str, Any]:
    """The same on a line of the diff."""
    return comment | {
        "path": "src/parser.py",
        "line": 4,
        "original_line": 4,
        "side": "RIGHT",
        "commit_id": SHA,
        "diff_hunk": "@@ -1 +1 @@\n-a\n+b",
        "pull_request_review_id": 700_000 + number,
        "html_url": f"{SITE}/pull/{number}#discussion_r{comment['id']}",
    }


def pull(number: int, body: str, actor: Actor) -> dict[str, Any]:
    """A pull request by `actor`."""
    repo = around(ANA)["repository"]
    return issue_fields(number) | {
        "body": body,
        "head": {"ref": "topic", "sha": SHA, "repo": repo},
        "base": {"ref": "main", "sha": "ef" * 20, "repo": repo},
        "html_url": f"{SITE}/pull/{number}",
        "merged": False,
        "merged_at": None,
        "draft": False,
        **signed(actor),
    }


def review(text: str, number: int, author: dict[str, Any] | None, association: str) -> dict[str, Any]:
    """A review that only comments."""
    return {
        "id": 700_000 + number,
        "user": author,
        "author_association": association,
        "body": text,
        "state": "commented",
        "commit_id": SHA,
        "submitted_at": stamp(NOW),
        "html_url": f"{SITE}/pull/{number}#pullrequestreview-{700_000 + number}",
    }
