"""What only GraphQL can do: react to a review.

Source: https://docs.github.com/en/graphql/reference/mutations#addreaction
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.demo.records import Content, Review
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
    made, _ = call.world.react(row, call.actor(), _CONTENTS[asked["content"]])
    return Thing(
        "AddReactionPayload", {"reaction": Thing("Reaction", {"content": asked["content"], "id": str(made.id)})}
    )


def _review(call: Call, subject: Any) -> Review | None:
    for repo in call.world.repositories.values():
        for pull in call.world.pulls(repo):
            for row in pull.reviews:
                if node_id("PullRequestReview", row.id) == subject:
                    return row
    return None
