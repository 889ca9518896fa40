"""Pull requests opened, changed and reviewed by the App.

Source: https://docs.github.com/en/rest/pulls
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from bot.github import parse, parse_pull
from bot.github.channel import Channel, last_page, read, rows
from bot.github.tokens import Purpose
from bot.model.pull import PullRequest
from bot.model.remark import Remark
from bot.model.thread import Comment

#: pages of a hundred: more comments than one review of ours has
_MOST_PAGES = 3


class PullWrites:
    """The part of `RepositoryClient` that opens and reviews pull requests; the same errors. No POST is repeated."""

    _channel: Channel

    async def open_pull_request(
        self, *, head: str, base: str, title: str, body: str, draft: bool = False
    ) -> PullRequest:
        """Open a pull request. Raises Forbidden (422) where there is one, nothing to merge, or no drafts can be had.

        Source: https://docs.github.com/en/rest/pulls/pulls#create-a-pull-request
        """
        json = {"title": title, "head": head, "base": base, "body": body, "draft": draft}
        response = await self._channel.write("POST", "/pulls", kind="open_pull", json=json, pull_request=True)
        return read(response, parse_pull.pull_request)

    async def change_pull_request(self, number: int, *, title: str, body: str) -> PullRequest:
        """Replace a pull request's title and body."""
        json, path = {"title": title, "body": body}, f"/pulls/{number}"
        response = await self._channel.write("PATCH", path, kind="change_pull", json=json, pull_request=True)
        return read(response, parse_pull.pull_request)

    async def create_review(
        self, number: int, *, head_sha: str, body: str, event: str, remarks: Sequence[Remark]
    ) -> Comment:
        """Review a pull request at a commit. `event` is `COMMENT`, `APPROVE` or `REQUEST_CHANGES`.

        The review in the shape of a comment. Raises Forbidden (422) where a remark's line is not in the diff.
        """
        json = {"commit_id": head_sha, "body": body, "event": event, "comments": [_remark(one) for one in remarks]}
        path = f"/pulls/{number}/reviews"
        response = await self._channel.write("POST", path, kind="create_review", json=json, pull_request=True)
        return read(response, parse.review)

    async def newest_reviews(self, number: int) -> tuple[Comment, ...]:
        """The submitted reviews of a pull request on the last two pages of a hundred, oldest first.

        GitHub lists them oldest first and in no other order.
        """
        first = await self._reviews(number, 1)
        last = last_page(first, 1)
        found: list[Comment] = []
        for page in range(max(1, last - 1), last + 1):
            response = first if page == 1 else await self._reviews(number, page)
            found += read(response, parse.submitted)
        return tuple(found)

    async def _reviews(self, number: int, page: int) -> httpx.Response:
        params = {"per_page": 100, "page": page}
        return await self._channel.get(
            f"/pulls/{number}/reviews", kind="reviews", params=params, purposes=(Purpose.READ_PULL,)
        )

    async def comments_of_review(self, number: int, review_id: int) -> tuple[Comment, ...]:
        """The comments that came with a review, oldest first; at most 300."""
        path = f"/pulls/{number}/reviews/{review_id}/comments"
        return await self._channel.pages(
            path, rows(parse.review_comment), kind="review_comments", most=_MOST_PAGES, purposes=(Purpose.READ_PULL,)
        )


def _remark(one: Remark) -> dict[str, Any]:
    json: dict[str, Any] = {"path": one.path, "line": one.line, "side": one.side, "body": one.body}
    if one.start_line is not None:
        json |= {"start_line": one.start_line, "start_side": one.side}
    return json
