"""What only GraphQL can do: react to a review, and take that back.

Source: https://docs.github.com/en/graphql/reference/mutations#addreaction, #removereaction
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.demo.records import Content, Reaction, Review
from bot.demo.refusal import Refused
from bot.demo.rest.call import Call
from bot.demo.rest.graphql import GraphError, Thing
from bot.demo.shapes.common import node_id

_CONTENTS: Mapping[str, Content] = {
    "THUMBS_UP": "+1", "THUMBS_DOWN": "-1", "LAUGH": "laugh", "HOORAY": "hooray", "CONFUSED": "confused",
    "HEART": "heart", "ROCKET": "rocket", "EYES": "eyes",
}  # fmt: skip


def refusal(refused: Refused, words: str) -> GraphError:
    """The entry of `errors` for what REST would have refused; `words` for what is not there."""
    return GraphError(words, "NOT_FOUND") if refused.status_code == 404 else GraphError(refused.message, "FORBIDDEN")


def add_reaction(call: Call, given: Mapping[str, Any]) -> Thing:
    """React to a review, once."""
    row, word = _asked(call, given)
    made, _ = call.world.react(row, call.actor(), _CONTENTS[word])
    return _payload("AddReactionPayload", word, made)


def remove_reaction(call: Call, given: Mapping[str, Any]) -> Thing:
    """Take one's own reaction away from a review. One that is not there is no fault, and null."""
    row, word = _asked(call, given)
    mine = [one for one in row.reactions if one.user is call.actor() and one.content == _CONTENTS[word]]
    for one in mine:
        call.world.unreact(row, one.id)
    return _payload("RemoveReactionPayload", word, mine[0] if mine else None)


def _payload(name: str, word: str, row: Reaction | None) -> Thing:
    shown = None if row is None else Thing("Reaction", {"content": word, "id": str(row.id)})
    return Thing(name, {"reaction": shown})


def _asked(call: Call, given: Mapping[str, Any]) -> tuple[Review, str]:
    """The review and GraphQL's word for the reaction. Raises `GraphError`."""
    asked = given.get("input")
    if not isinstance(asked, dict) or asked.get("content") not in _CONTENTS:
        raise GraphError("Variable $content of type ReactionContent! was provided invalid value")
    subject = asked.get("subjectId")
    words = f"Could not resolve to a node with the global id of '{subject}'"
    row = _review(call, subject)
    if row is None:
        raise GraphError(words, "NOT_FOUND")
    call.params = dict(zip(("owner", "repo"), row.pull.repository.full_name.split("/"), strict=True))
    try:
        call.repository("pull_requests", "write")
    except Refused as refused:
        raise refusal(refused, words) from None
    return row, asked["content"]


def _review(call: Call, subject: Any) -> Review | None:
    for repo in call.world.repositories.values():
        for pull in call.world.pulls(repo):
            for row in pull.reviews:
                if node_id("PullRequestReview", row.id) == subject:
                    return row
    return None
