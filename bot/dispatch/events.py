"""Webhook payload → `Event`: what a delivery means to us."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from bot.dispatch import pull_events, review_events
from bot.github import parse
from bot.model.event import HANDLED, Event, Notice, Signal
from bot.model.thread import Comment, Issue
from bot.workflows.configuration import configures

Payload = Mapping[str, Any]

#: commits that a push lists at most, and where each names its files
_LISTED_MAX = 2048
_CHANGED = ("added", "removed", "modified")


@dataclass(frozen=True, slots=True)
class Ignored:
    """A delivery that means nothing to us; `reason` is kept with it."""

    reason: str


def normalise(event: str, payload: Payload) -> Event | Signal | Notice | Ignored:
    """The event of a payload, or why there is none. Never raises, whatever the payload holds.

    What is on no thread of its own is a `Signal` (checks) or a `Notice` (pushes); what an event means to a `wait` step,
    `signal_of` tells.

    `event` is the value of `X-GitHub-Event`. `text` is set only where it may hold a request: a comment that was created
    or edited, a review that was submitted or edited, a body when its issue or pull request was opened or edited; a
    title never. `installation_id` is 0 where the payload names none.
    Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads
    """
    read = _READERS.get(event)
    if read is None:
        return Ignored(f"unknown event {event[:64]}")
    action = payload.get("action", "")
    if not isinstance(action, str) or action not in HANDLED[event]:
        return Ignored(f"unknown action of {event}")
    try:
        return read(action, payload)
    except parse.Unreadable as error:
        return Ignored(f"unreadable {event}: {error}")


def signal_of(event: Event) -> Signal | None:
    """What an event on a thread means to a run that waits: a new comment, a label, a merge."""
    comment = event.comment
    fields = {"actor": event.sender.login}
    if (event.name, event.action) in _SAID and comment is not None and comment.body.strip():
        return _signal("comment", event, {"comment_id": str(comment.id), **fields, "url": comment.url})
    fields["url"] = event.issue.url
    if event.action == "labeled" and event.name in ("issues", "pull_request"):
        return _signal("labeled", event, {"label": event.fields.get("label", ""), **fields})
    if (event.name, event.action) == ("pull_request", "closed") and event.pull is not None and event.pull.merged:
        return _signal("merged", event, {"sha": event.fields.get("sha", ""), **fields})
    return None


def _signal(name: Literal["comment", "labeled", "merged"], event: Event, fields: Mapping[str, str]) -> Signal:
    numbers = (event.issue.number,)
    return Signal(name, event.at, event.sender, event.repository, event.installation_id, numbers, _flat(fields))


def _push(action: str, payload: Payload) -> Notice:
    """Commits of a branch. The field `touches` is there where the configuration may have changed.

    Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads#push
    """
    head, repository = payload.get("head_commit"), payload.get("repository")
    at = head.get("timestamp") if isinstance(head, Mapping) else None
    pushed = repository.get("pushed_at") if isinstance(repository, Mapping) else None
    fields = {key: payload.get(key) for key in ("ref", "before", "after")}
    return Notice(
        "push",
        action,
        parse.timestamp(pushed or at),
        parse.account(payload.get("sender")),
        _installation(payload),
        (parse.repository(repository),),
        _flat(fields | ({"touches": "configuration"} if _touches_configuration(payload) else {})),
    )


def _repository(action: str, payload: Payload) -> Notice:
    """A repository was renamed, moved, archived or deleted."""
    source, repository = payload.get("repository"), parse.repository(payload.get("repository"))
    at = source.get("updated_at") if isinstance(source, Mapping) else None
    sender = parse.account(payload.get("sender"))
    return Notice("repository", action, parse.timestamp(at), sender, _installation(payload), (repository,))


def _installed(action: str, payload: Payload) -> Notice:
    """An installation ends or rests, or has lost repositories: those that are named.

    Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads#installation_repositories
    """
    source = payload.get("installation")
    if not isinstance(source, Mapping):
        raise parse.Unreadable("no installation")
    account, removed = parse.account(source.get("account")), payload.get("repositories_removed")
    rows = [row for row in removed if isinstance(row, Mapping)] if isinstance(removed, list) else []
    repositories = tuple(parse.repository({**row, "owner": source.get("account")}) for row in rows)
    return Notice(
        "installation_repositories" if "repositories_removed" in payload else "installation",
        action,
        parse.timestamp(source.get("updated_at")),
        parse.account(payload.get("sender")),
        _installation(payload),
        repositories,
        {"account": account.login, "account_id": str(account.id)},
    )


def _touches_configuration(payload: Payload) -> bool:
    """Whether a push may have changed one of the bot's own files.

    Of a push that goes back GitHub lists no commits, and never more than 2,048.
    """
    commits = payload.get("commits")
    if payload.get("forced") is True or not isinstance(commits, list) or not 0 < len(commits) < _LISTED_MAX:
        return True
    lists = [commit.get(key) for commit in commits if isinstance(commit, Mapping) for key in _CHANGED]
    files = [file for each in lists if isinstance(each, list) for file in each]
    return any(isinstance(file, str) and configures(file) for file in files)


def _checks(key: str) -> Callable[[str, Payload], Signal | Ignored]:
    """Reads what tells that a check, or all those of an App, has ended.

    GitHub names the open pull requests whose head the commit is, but none from forks. Source:
    https://docs.github.com/en/rest/checks/runs#get-a-check-run
    """

    def read(action: str, payload: Payload) -> Signal | Ignored:
        check = payload.get(key)
        sha = check.get("head_sha") if isinstance(check, Mapping) else None
        if not isinstance(check, Mapping) or not isinstance(sha, str) or not sha:
            raise parse.Unreadable("no check, or none of a commit")
        pulls = check.get("pull_requests")
        repository = parse.repository(payload.get("repository"))
        listed = pulls if isinstance(pulls, list) else []
        numbers = [number for pull in listed if (number := _headed(pull, sha, repository.id))]
        if not numbers:
            return Ignored("a check of no open pull request's head")
        sender, app = parse.account(payload.get("sender")), check.get("app")
        number = app.get("id") if isinstance(app, Mapping) else None
        url = check.get("html_url")
        return Signal(
            "checks_completed",
            parse.timestamp(check.get("completed_at") or check.get("updated_at")),
            sender,
            repository,
            _installation(payload),
            tuple(numbers),
            _flat({"sha": sha, "conclusion": check.get("conclusion"), "actor": sender.login, "url": url}),
            sha=sha,
            app_id=number if isinstance(number, int) else None,
        )

    return read


def _headed(pull: object, sha: str, repository_id: int) -> int | None:
    """The number of a pull request of this repository whose head is that commit; GitHub lists those of forks too."""
    if not isinstance(pull, Mapping):
        return None
    head, base, number = pull.get("head"), pull.get("base"), pull.get("number")
    into = base.get("repo") if isinstance(base, Mapping) else None
    elsewhere = isinstance(into, Mapping) and into.get("id") != repository_id
    fits = isinstance(head, Mapping) and head.get("sha") == sha and not elsewhere
    return number if fits and isinstance(number, int) and not isinstance(number, bool) else None


def _flat(fields: Mapping[str, object]) -> dict[str, str]:
    return {key: value for key, value in fields.items() if isinstance(value, str) and value}


def _issue_comment(action: str, payload: Payload) -> Event:
    comment = parse.comment(payload.get("comment"))
    issue = parse.issue(payload.get("issue"))
    match action:
        case "created":
            at, text = comment.created_at, comment.body
        case "edited":
            at, text = comment.updated_at, comment.body
        case "deleted":
            at, text = max(comment.updated_at, issue.updated_at), ""
        case _:
            at, text = _pinned_at(payload) or issue.updated_at, ""
    return _event("issue_comment", action, payload, at, issue, comment, text)


def _issues(action: str, payload: Payload) -> Event | Ignored:
    if "comment" in payload:
        return Ignored("a comment's body under the header of an issue")
    issue = parse.issue(payload.get("issue"))
    at = issue.created_at if action == "opened" else issue.updated_at
    text = issue.body if action in ("opened", "edited") and not _moved_in(payload) else ""
    return _event("issues", action, payload, at, issue, None, text)


def _pull(
    name: str,
    subject: Literal["issue", "review", "review_comment"],
    read: Callable[[str, Payload], pull_events.Told],
) -> Callable[[str, Payload], Event]:
    """Reads what happened to a pull request, or was said in a review of it."""

    def event(action: str, payload: Payload) -> Event:
        told = read(action, payload)
        made = _event(name, action, payload, told.at, told.issue, told.comment, told.text)
        fields = {**told.fields, **made.fields}
        return replace(made, subject=subject, pull=told.pull, review=told.review, fields=fields)

    return event


#: events by which somebody has said something new
_SAID = frozenset(
    {
        ("issue_comment", "created"),
        ("pull_request_review", "submitted"),
        ("pull_request_review_comment", "created"),
    }
)

_READERS: Mapping[str, Callable[[str, Payload], Event | Signal | Notice | Ignored]] = {
    "issue_comment": _issue_comment,
    "issues": _issues,
    "pull_request": _pull("pull_request", "issue", pull_events.pull_request),
    "pull_request_review": _pull("pull_request_review", "review", review_events.review),
    "pull_request_review_comment": _pull("pull_request_review_comment", "review_comment", review_events.review_comment),
    "check_run": _checks("check_run"),
    "check_suite": _checks("check_suite"),
    "push": _push,
    "repository": _repository,
    "installation": _installed,
    "installation_repositories": _installed,
}


def _event(
    name: str, action: str, payload: Payload, at: datetime, issue: Issue, comment: Comment | None, text: str
) -> Event:
    return Event(
        name=name,
        action=action,
        at=at,
        sender=parse.account(payload.get("sender")),
        repository=parse.repository(payload.get("repository")),
        installation_id=_installation(payload),
        issue=issue,
        comment=comment,
        text=text,
        old_text=_old_text(payload, text) if action == "edited" else None,
        fields=_fields(payload),
        subject="comment" if comment else "issue",
    )


def _old_text(payload: Payload, text: str) -> str:
    """The body before an edit; the present one where something else was edited, so that nothing counts as added."""
    changes = payload.get("changes")
    if not isinstance(changes, Mapping) or "body" not in changes:
        return text
    change = changes["body"]
    old = change.get("from") if isinstance(change, Mapping) else None
    # GitHub leaves `from` out where the body was empty before
    return old if isinstance(old, str) else ""


def _moved_in(payload: Payload) -> bool:
    """Whether an issue was opened by a transfer: what its body asks for was asked in the repository it came from."""
    changes = payload.get("changes")
    return isinstance(changes, Mapping) and "old_issue" in changes


def _fields(payload: Payload) -> dict[str, str]:
    label = payload.get("label")
    name = label.get("name") if isinstance(label, Mapping) else None
    return {"label": name} if isinstance(name, str) else {}


def _installation(payload: Payload) -> int:
    installation = payload.get("installation")
    number = installation.get("id") if isinstance(installation, Mapping) else None
    return number if isinstance(number, int) else 0


def _pinned_at(payload: Payload) -> datetime | None:
    """When a comment was pinned; None for `unpinned`, where the payload no longer has it."""
    comment = payload.get("comment")
    pin = comment.get("pin") if isinstance(comment, Mapping) else None
    at = pin.get("pinned_at") if isinstance(pin, Mapping) else None
    return parse.timestamp(at) if at else None
