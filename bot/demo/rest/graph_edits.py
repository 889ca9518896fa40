"""Who edited a text, which REST does not tell: comments, issues and pull requests by their global ids.

Source: https://docs.github.com/en/graphql/reference/interfaces#comment, /objects#usercontentedit
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.demo.records import Comment, Issue, User
from bot.demo.refusal import Refused
from bot.demo.rest.call import Call
from bot.demo.rest.graph_writes import refusal
from bot.demo.rest.graphql import GraphError, Thing
from bot.demo.shapes.common import node_id, stamp

#: what GitHub tells at once
_MOST = 100


def edited(call: Call, given: Mapping[str, Any]) -> Thing:
    """The edits of a text. Raises `GraphError` for what is not there, or not to be seen."""
    subject = given.get("id")
    words = f"Could not resolve to a node with the global id of '{subject}'"
    row = next((one for one, known in _texts(call) if known == subject), None)
    if row is None:
        raise GraphError(words, "NOT_FOUND")
    issue = row.issue if isinstance(row, Comment) else row
    call.params = dict(zip(("owner", "repo"), issue.repository.full_name.split("/"), strict=True))
    try:
        call.repository("issues" if issue.pull is None else "pull_requests")
    except Refused as refused:
        raise refusal(refused, words) from None
    # once a text was edited, the list begins with its writing
    edits = [(row.created_at, row.author), *row.edits] if row.edits else []
    shown = [Thing("UserContentEdit", {"editedAt": stamp(at), "editor": _editor(who)}) for at, who in edits]
    connection = Thing("UserContentEditConnection", {"totalCount": len(shown), "nodes": shown[:_MOST]})
    kind = "IssueComment" if isinstance(row, Comment) else "Issue" if row.pull is None else "PullRequest"
    return Thing(kind, {"userContentEdits": lambda _: connection})


def _texts(call: Call) -> Iterator[tuple[Comment | Issue, str]]:
    for comment in call.world.comments_by_id.values():
        yield comment, node_id("IssueComment", comment.id)
    for repo in call.world.repositories.values():
        for issue in repo.issues.values():
            yield issue, node_id("Issue", issue.id)


def _editor(who: User) -> Thing:
    return Thing(who.type, {"login": who.login.removesuffix("[bot]"), "databaseId": who.id})
