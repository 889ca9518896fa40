"""Talking in review threads: replies, reactions to reviews, and the newest of what was said.

Sources: https://docs.github.com/en/rest/pulls/comments, https://docs.github.com/en/rest/pulls/reviews,
https://docs.github.com/en/rest/reactions/reactions, https://docs.github.com/en/graphql/reference/mutations#addreaction
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bot.errors import NotFound
from bot.github import parse, queries
from bot.github.channel import Channel, last_page, read, rows
from bot.github.tokens import Purpose
from bot.model.thread import Comment, CommentPage

_PULL = (Purpose.READ_PULL,)
#: pages of a hundred of `review_comments_since`; more than a thousand new ones are not wanted by anybody
_MOST_PAGES = 10

#: REST's words for reactions, and GraphQL's
GRAPH_REACTIONS: Mapping[str, str] = {
    "+1": "THUMBS_UP",
    "-1": "THUMBS_DOWN",
    "laugh": "LAUGH",
    "hooray": "HOORAY",
    "confused": "CONFUSED",
    "heart": "HEART",
    "rocket": "ROCKET",
    "eyes": "EYES",
}


class ReviewTalk:
    """The part of `RepositoryClient` that reads and writes review threads; the same errors. No write is repeated."""

    _channel: Channel

    async def reply_to_review_comment(self, number: int, comment_id: int, body: str) -> Comment:
        """Answer in the thread that a comment began. `comment_id` has to be the thread's first (`place.root_id`).

        Source: https://docs.github.com/en/rest/pulls/comments#create-a-reply-for-a-review-comment
        """
        path, json = f"/pulls/{number}/comments/{comment_id}/replies", {"body": body}
        response = await self._channel.write("POST", path, kind="review_reply", json=json, pull_request=True)
        return read(response, parse.review_comment)

    async def react_to_review(self, content: str, number: int, review_id: int) -> None:
        """Put a reaction on a review, which only GraphQL can. Twice is once.

        Raises KeyError for a word that is no reaction, NotFound on a server without GraphQL.
        """
        await self._mark(queries.ADD_REACTION, "react", content, number, review_id)

    async def unreact_to_review(self, content: str, number: int, review_id: int) -> None:
        """Take our reaction of that word away from a review. Raises as `react_to_review`.

        Source: https://docs.github.com/en/graphql/reference/mutations#removereaction
        """
        await self._mark(queries.REMOVE_REACTION, "unreact", content, number, review_id)

    async def _mark(self, mutation: str, kind: str, content: str, number: int, review_id: int) -> None:
        word = GRAPH_REACTIONS[content]
        # GraphQL knows a review by its node id alone
        subject = (await self.review(number, review_id)).node_id
        await self._channel.mutate(mutation, kind=kind, variables={"subject": subject, "content": word})

    async def review_comment(self, comment_id: int) -> Comment:
        """One review comment as it is now."""
        path = f"/pulls/comments/{comment_id}"
        return read(await self._channel.get(path, kind="review_comment", purposes=_PULL), parse.review_comment)

    async def review(self, number: int, review_id: int) -> Comment:
        """One review as it is now.

        Source: https://docs.github.com/en/rest/pulls/reviews#get-a-review-for-a-pull-request
        """
        path = f"/pulls/{number}/reviews/{review_id}"
        response = await self._channel.get(path, kind="review", purposes=_PULL)
        return read(response, parse.review)

    async def said(self, number: int, comment_id: int, *, pull_request: bool) -> Comment:
        """The comment of that number; on a pull request, where there is none, the review comment or the review.

        Raises NotFound where there is nothing of the number. Where it stands, its address tells.
        """
        try:
            # GitHub counts each sort for itself, so that one number may name several; people mean comments
            path = f"/issues/comments/{comment_id}"
            return read(await self._channel.get(path, kind="comment"), parse.comment)
        except NotFound:
            if not pull_request:
                raise
        try:
            return await self.review_comment(comment_id)
        except NotFound:
            return await self.review(number, comment_id)

    async def review_comments_since(self, number: int, since: datetime) -> tuple[Comment, ...]:
        """The review comments that were written or changed at `since` or later, oldest first, a thousand at most."""
        # GitHub's times have whole seconds
        since = since.astimezone(UTC).replace(microsecond=0)
        found = await self._channel.pages(
            f"/pulls/{number}/comments",
            rows(parse.review_comment),
            kind="review_comments",
            most=_MOST_PAGES,
            params={"since": f"{since:%Y-%m-%dT%H:%M:%SZ}"},
            purposes=_PULL,
        )
        # a server that does not know `since` sends everything
        return tuple(comment for comment in found if comment.updated_at >= since)

    async def review_comments_page(self, number: int, page: int, per_page: int = 100) -> CommentPage:
        """One page of a pull request's review comments, oldest first; `last` is where the newest are."""
        response = await self._page(f"/pulls/{number}/comments", "review_comments", page, per_page)
        return CommentPage(read(response, rows(parse.review_comment)), last_page(response, page))

    async def reviews_page(self, number: int, page: int, per_page: int = 100) -> CommentPage:
        """One page of a pull request's submitted reviews, oldest first; `last` is where the newest are.

        A review without a text of its own is among them: it only holds comments.
        """
        response = await self._page(f"/pulls/{number}/reviews", "reviews", page, per_page)
        return CommentPage(tuple(read(response, parse.submitted)), last_page(response, page))

    async def _page(self, path: str, kind: str, page: int, per_page: int) -> Any:
        params = {"page": page, "per_page": per_page}
        return await self._channel.get(path, kind=kind, params=params, purposes=_PULL)
