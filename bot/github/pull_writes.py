"""Pull requests opened, changed and reviewed by the App, and found again.

Source: https://docs.github.com/en/rest/pulls
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.github import parse
from bot.github.channel import Channel, read
from bot.github.tokens import Purpose
from bot.model.proposal import Proposal, Remark
from bot.model.thread import Comment, Repository

#: pages of a listing that are read: a thousand reviews, three thousand review comments
_MOST_PAGES = 10
_READ = (Purpose.READ_PULL,)


class PullWrites:
    """The part of `RepositoryClient` that opens and reviews pull requests; the same errors. No POST is repeated."""

    _channel: Channel

    @property
    def _repository(self) -> Repository:
        return self._channel.repository

    async def proposal(self, number: int) -> Proposal:
        """A pull request as it is now."""
        return read(await self._channel.get(f"/pulls/{number}", kind="pull", purposes=_READ), _proposal)

    async def find_proposal(self, head: str) -> Proposal | None:
        """The open pull request whose head is this branch of the repository itself; None where there is none."""
        params: dict[str, str | int] = {"state": "open", "head": f"{self._repository.owner.login}:{head}"}
        params["per_page"] = 100
        response = await self._channel.get("/pulls", kind="pulls", params=params, purposes=_READ)
        # a server that does not know `head` sends everything
        return next((one for one in read(response, _proposals) if one.head == head and one.state == "open"), None)

    async def open_proposal(self, *, head: str, base: str, title: str, body: str, draft: bool = False) -> Proposal:
        """Open a pull request. Raises Forbidden (422) where there is one, nothing to merge, or no drafts can be had."""
        json = {"title": title, "head": head, "base": base, "body": body, "draft": draft}
        response = await self._channel.write("POST", "/pulls", kind="open_pull", json=json, pull_request=True)
        return read(response, _proposal)

    async def change_proposal(self, number: int, *, title: str, body: str) -> Proposal:
        """Replace a pull request's title and body."""
        json = {"title": title, "body": body}
        path = f"/pulls/{number}"
        response = await self._channel.write("PATCH", path, kind="change_pull", json=json, pull_request=True)
        return read(response, _proposal)

    async def create_review(
        self, number: int, *, head_sha: str, body: str, event: str, remarks: Sequence[Remark]
    ) -> Comment:
        """Review a pull request at a commit. `event` is `COMMENT`, `APPROVE` or `REQUEST_CHANGES`.

        The review in the shape of a comment. Raises Forbidden (422) where a remark's line is not in the diff.
        """
        json = {"commit_id": head_sha, "body": body, "event": event, "comments": [_remark(one) for one in remarks]}
        path = f"/pulls/{number}/reviews"
        response = await self._channel.write("POST", path, kind="create_review", json=json, pull_request=True)
        return read(response, _review)

    async def reviews_of(self, number: int) -> tuple[Comment, ...]:
        """The reviews of a pull request, oldest first, a thousand at most; drafts of them that nobody sees left out."""
        return await self._pages(f"/pulls/{number}/reviews", "reviews", _review)

    async def remarks_of_review(self, number: int, review_id: int) -> tuple[Comment, ...]:
        """The comments that came with a review."""
        return await self._pages(f"/pulls/{number}/reviews/{review_id}/comments", "review_comments", _review_comment)

    async def remarks_of(self, number: int) -> tuple[Comment, ...]:
        """All review comments of a pull request, oldest first, a thousand at most."""
        return await self._pages(f"/pulls/{number}/comments", "review_comments", _review_comment)

    async def _pages(self, path: str, kind: str, item: Any) -> tuple[Comment, ...]:
        found: list[Comment] = []
        for page in range(1, _MOST_PAGES + 1):
            params: dict[str, str | int] = {"per_page": 100, "page": page}
            response = await self._channel.get(path, kind=kind, params=params, purposes=_READ)
            found += read(response, lambda body: [item(one) for one in _list(body) if one.get("state") != "PENDING"])
            if "next" not in response.links:
                break
        return tuple(found)


def _remark(one: Remark) -> dict[str, Any]:
    json: dict[str, Any] = {"path": one.path, "line": one.line, "side": one.side, "body": one.body}
    if one.start_line is not None:
        json |= {"start_line": one.start_line, "start_side": one.side}
    return json


def _list(body: Any) -> list[Any]:
    if not isinstance(body, list):
        raise parse.Unreadable("a list was expected")
    return body


def _review(body: Any) -> Comment:
    return parse.comment(body, "review")


def _review_comment(body: Any) -> Comment:
    return parse.comment(body, "review_comment")


def _proposals(body: Any) -> list[Proposal]:
    return [_proposal(one) for one in _list(body)]


def _proposal(body: Any) -> Proposal:
    if not isinstance(body, Mapping):
        raise parse.Unreadable("pull request: not an object")
    return Proposal(
        number=int(body["number"]),
        url=str(body["html_url"]),
        head=str(body["head"]["ref"]),
        head_sha=str(body["head"]["sha"]),
        base=str(body["base"]["ref"]),
        title=str(body["title"] or ""),
        body=str(body.get("body") or ""),
        draft=body.get("draft") is True,
        state=str(body.get("state") or "open"),
    )
