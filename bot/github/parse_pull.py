"""GitHub's JSON about pull requests → our nouns; see `bot.github.parse` for how leniently."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bot.github.parse import Unreadable, account, timestamp
from bot.model.pull import CheckRun, Linked, PullFile, PullRequest, ReviewThread
from bot.model.thread import GHOST, Account, Comment

#: how a check of GitHub Actions names its job
_JOB = re.compile(r"/actions/runs/\d+/jobs?/(\d+)")


def pull_request(data: Any) -> PullRequest:
    """A pull request, from an answer or from a payload's `pull_request`."""
    source = _object(data, "pull request")
    head, base = _object(source.get("head"), "head"), _object(source.get("base"), "base")
    repo, head_repo = base.get("repo"), head.get("repo")
    return PullRequest(
        number=_number(source, "number"),
        title=_text(source, "title"),
        body=_text(source, "body"),
        author=account(source.get("user")),
        state=_text(source, "state") or "open",
        url=_text(source, "html_url"),
        head=_text(head, "ref"),
        head_sha=_sha(head),
        base=_text(base, "ref"),
        base_sha=_sha(base),
        repository=_number(_object(repo, "base.repo"), "id"),
        head_repository=_number(head_repo, "id") if isinstance(head_repo, Mapping) else None,
        draft=source.get("draft") is True,
        # in lists there is only the time
        merged=source.get("merged") is True or bool(source.get("merged_at")),
    )


def pull_file(data: Any) -> PullFile:
    """One file of `GET …/pulls/{n}/files`."""
    source = _object(data, "file")
    return PullFile(
        path=_text(source, "filename"),
        status=_text(source, "status"),
        additions=_count(source, "additions"),
        deletions=_count(source, "deletions"),
        patch=_text(source, "patch"),
        previous_path=_text(source, "previous_filename"),
    )


def check_run(data: Any) -> CheckRun:
    """One check. A job of GitHub Actions is told by its app, and its number stands in its address."""
    source = _object(data, "check run")
    number, url = _number(source, "id"), _text(source, "details_url") or _text(source, "html_url")
    app, output = source.get("app"), source.get("output")
    is_job = isinstance(app, Mapping) and app.get("slug") == "github-actions"
    match = _JOB.search(url)
    app_id = app.get("id") if isinstance(app, Mapping) else None
    said = output if isinstance(output, Mapping) else {}
    conclusion = source.get("conclusion")
    return CheckRun(
        id=number,
        name=_text(source, "name"),
        status=_text(source, "status"),
        conclusion=conclusion if isinstance(conclusion, str) else None,
        url=_text(source, "html_url") or url,
        title=_text(said, "title"),
        summary="\n\n".join(text for text in (_text(said, "summary"), _text(said, "text")) if text),
        job_id=(int(match[1]) if match else number) if is_job else None,
        app_id=app_id if isinstance(app_id, int) else None,
        external_id=_text(source, "external_id"),
        annotations=_count(said, "annotations_count"),
    )


def review_thread(data: Any) -> ReviewThread:
    """A node of GraphQL's `reviewThreads`."""
    source = _object(data, "review thread")
    comments = _object(source.get("comments"), "comments")
    nodes = comments.get("nodes")
    rows = tuple(_review_comment(node) for node in nodes if node is not None) if isinstance(nodes, list) else ()
    line = source.get("line")
    line = source.get("originalLine") if line is None else line
    return ReviewThread(
        path=_text(source, "path"),
        line=line if isinstance(line, int) else None,
        resolved=source.get("isResolved") is True,
        outdated=source.get("isOutdated") is True,
        comments=rows,
        hidden=max(0, _count(comments, "totalCount") - len(rows)),
    )


def _review_comment(data: Any) -> Comment:
    source = _object(data, "review comment")
    created = timestamp(source.get("createdAt"), "createdAt")
    return Comment(
        id=_count(source, "databaseId"),
        author=graph_account(source.get("author")),
        body=_text(source, "body"),
        created_at=created,
        updated_at=timestamp(source["updatedAt"], "updatedAt") if source.get("updatedAt") else created,
        url=_text(source, "url"),
        minimized=source.get("isMinimized") is True,
        kind="review_comment",
    )


def linked(data: Any, *, is_pull_request: bool) -> Linked:
    """A node of GraphQL's `closingIssuesReferences` or `closedByPullRequestsReferences`."""
    source = _object(data, "linked")
    return Linked(
        repository=_text(_object(source.get("repository"), "repository"), "nameWithOwner"),
        number=_number(source, "number"),
        title=_text(source, "title"),
        state=_text(source, "state").lower(),
        body=_text(source, "body"),
        author=graph_account(source.get("author")),
        url=_text(source, "url"),
        is_pull_request=is_pull_request,
    )


def graph_account(data: Any) -> Account:
    """An `Actor` of GraphQL, where a bot's login lacks REST's `[bot]`. Null is `GHOST`."""
    if not isinstance(data, Mapping) or not _text(data, "login"):
        return GHOST
    login, kind = _text(data, "login"), _text(data, "__typename") or "User"
    if kind == "Bot" and not login.endswith("[bot]"):
        login += "[bot]"
    return Account(_count(data, "databaseId"), login, kind)


def _object(data: Any, noun: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise Unreadable(f"{noun}: not an object")
    return data


def _number(source: Mapping[str, Any], key: str) -> int:
    value = source.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unreadable(f"no {key}")
    return value


def _count(source: Mapping[str, Any], key: str) -> int:
    value = source.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _text(source: Mapping[str, Any], key: str) -> str:
    value = source.get(key)
    if not isinstance(value, str):
        return ""
    # a lone surrogate, possible in JSON's escapes: no database and no pipe takes it
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _sha(source: Mapping[str, Any]) -> str:
    sha = _text(source, "sha")
    if not re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", sha):
        raise Unreadable("no sha")
    return sha
