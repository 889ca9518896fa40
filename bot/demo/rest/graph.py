"""What GraphQL tells of pull requests and REST does not: resolved threads, linked issues.

Source: https://docs.github.com/en/graphql/reference/objects
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.demo.records import Issue, Pull, Repository, ReviewComment, ReviewThread, User
from bot.demo.refusal import Refused
from bot.demo.rest.call import Call, Reply
from bot.demo.rest.graph_edits import edited
from bot.demo.rest.graph_writes import add_reaction, refusal, remove_reaction
from bot.demo.rest.graphql import GraphError, Resolver, Thing, parse, select
from bot.demo.shapes.common import stamp
from bot.demo.shapes.thread import issue_page

#: keywords as GitHub reads them in the body of a pull request to the default branch
_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)\b", re.IGNORECASE)


async def answer(call: Call) -> Reply:
    """One query. Refusals are answers of 200 with `errors`, but for credentials."""
    text, variables = call.needed("query", str), call.field("variables", dict) or {}
    if call.viewer.kind == "anonymous":
        raise Refused(401, "This endpoint requires you to be authenticated.")
    if text.lstrip().startswith("mutation"):
        deeds: dict[str, Resolver] = {
            "addReaction": lambda given: add_reaction(call, given),
            "removeReaction": lambda given: remove_reaction(call, given),
        }
        root = Thing("Mutation", deeds)
    else:
        root = Thing(
            "Query",
            {"repository": lambda given: _repository(call, given), "node": lambda given: edited(call, given)},
        )
    try:
        data = select(root, parse(text, variables))
    except GraphError as error:
        entry: dict[str, Any] = {"message": str(error)}
        return Reply({"data": None, "errors": [{"type": error.kind, **entry} if error.kind else entry]})
    return Reply({"data": data})


def _repository(call: Call, given: Mapping[str, Any]) -> Thing:
    call.params = {"owner": str(given.get("owner")), "repo": str(given.get("name"))}
    name = f"{given.get('owner')}/{given.get('name')}"
    try:
        repo = call.repository("metadata")
    except Refused as refused:
        raise refusal(refused, f"Could not resolve to a Repository with the name '{name}'.") from None

    def thread(permission: str, what: str) -> Resolver:
        def resolver(arguments: Mapping[str, Any]) -> Thing:
            number = arguments.get("number")
            words = f"Could not resolve to {'an' if what == 'Issue' else 'a'} {what} with the number of {number}."
            try:
                call.repository(permission)
            except Refused as refused:
                raise refusal(refused, words) from None
            row = repo.issues.get(number) if isinstance(number, int) else None
            if row is None or (row.pull is None) is (what == "PullRequest"):
                raise GraphError(words, "NOT_FOUND")
            return _thread(call, row)

        return resolver

    fields = {"issue": thread("issues", "Issue"), "pullRequest": thread("pull_requests", "PullRequest")}
    return Thing("Repository", {"nameWithOwner": repo.full_name, **fields})


def _thread(call: Call, row: Issue) -> Thing:
    repo, pull = row.repository, row.pull
    fields: dict[str, Any] = {
        "number": row.number,
        "title": row.title,
        "body": row.body or "",
        "url": issue_page(call.world.addresses, row),
        "state": "MERGED" if pull is not None and pull.merged else row.state.upper(),
        "author": _actor(row.author),
        "repository": Thing("Repository", {"nameWithOwner": repo.full_name}),
    }
    if pull is not None:
        fields["reviewThreads"] = _connection(pull.review_threads, lambda one: _review_thread(call, one))
        issues = [repo.issues[number] for number in _closed(pull)]
        fields["closingIssuesReferences"] = _connection(issues, lambda one: _thread(call, one))
        return Thing("PullRequest", fields)

    def closing(arguments: Mapping[str, Any]) -> Thing:
        every = arguments.get("includeClosedPrs") is True
        pulls = [
            one.issue
            for one in call.world.pulls(repo)
            if row.number in _closed(one) and (every or one.issue.state == "open")
        ]
        return _connection(pulls, lambda one: _thread(call, one))(arguments)

    fields["closedByPullRequestsReferences"] = closing
    return Thing("Issue", fields)


def _closed(pull: Pull) -> list[int]:
    """Numbers of the issues that it closes."""
    repo: Repository = pull.repository
    if pull.base != repo.default_branch:
        return []
    numbers = dict.fromkeys(map(int, _CLOSES.findall(pull.issue.body or "")))
    return [number for number in numbers if number in repo.issues and repo.issues[number].pull is None]


def _review_thread(call: Call, row: ReviewThread) -> Thing:
    return Thing(
        "PullRequestReviewThread",
        {
            "isResolved": row.resolved,
            "isOutdated": row.outdated,
            "path": row.path,
            "line": None if row.outdated else row.line,
            "originalLine": row.line,
            "comments": _connection(row.comments, lambda one: _comment(call, one)),
        },
    )


def _comment(call: Call, row: ReviewComment) -> Thing:
    html = issue_page(call.world.addresses, row.thread.pull.issue)
    return Thing(
        "PullRequestReviewComment",
        {
            "databaseId": row.id,
            "author": _actor(row.author),
            "body": row.body,
            "createdAt": stamp(row.created_at),
            "updatedAt": stamp(row.updated_at),
            "url": f"{html}#discussion_r{row.id}",
            "isMinimized": False,
        },
    )


def _actor(who: User) -> Thing:
    """GraphQL's logins of bots lack REST's `[bot]`."""
    return Thing(who.type, {"login": who.login.removesuffix("[bot]"), "databaseId": who.id})


def _connection(rows: Sequence[Any], show: Callable[[Any], Thing]) -> Resolver:
    def resolver(arguments: Mapping[str, Any]) -> Thing:
        first, after = arguments.get("first"), arguments.get("after")
        if not isinstance(first, int) or not 1 <= first <= 100:
            raise GraphError("You must provide a `first` or `last` value to properly paginate.", "MISSING_PAGINATION")
        start = _offset(after) if after is not None else 0
        end = start + first
        page = {"hasNextPage": end < len(rows), "endCursor": b64encode(f"cursor:{end}".encode()).decode()}
        nodes = [show(row) for row in rows[start:end]]
        return Thing("Connection", {"totalCount": len(rows), "pageInfo": Thing("PageInfo", page), "nodes": nodes})

    return resolver


def _offset(cursor: Any) -> int:
    try:
        return int(b64decode(str(cursor), validate=True).decode().removeprefix("cursor:"))
    except (NotBase64, ValueError):
        raise GraphError(f"`{cursor}` does not appear to be a valid cursor.", "INVALID_CURSOR_ARGUMENTS") from None
