"""What was said in a repository since some time, as GitHub's JSON: webhooks that nobody sent are made of it.

Sources: https://docs.github.com/en/rest/issues/comments#list-issue-comments-for-a-repository,
https://docs.github.com/en/rest/issues/issues#list-repository-issues,
https://docs.github.com/en/graphql/reference/objects#usercontentedit
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bot.errors import NotFound
from bot.github import parse, queries
from bot.github.channel import Channel, read
from bot.github.tokens import Purpose
from bot.model.thread import Account

#: pages of a hundred of each listing
_MOST_PAGES = 30

Told = Mapping[str, Any]


class SinceReading:
    """The part of `RepositoryClient` that looks back; the same errors."""

    _channel: Channel

    async def comments_told(self, since: datetime) -> tuple[Told, ...]:
        """The comments of all conversations written or changed at `since` or later, by their last change.

        Three thousand at most, the oldest ones.
        """
        return await self._told("/issues/comments", {}, since)

    async def threads_told(self, since: datetime) -> tuple[Told, ...]:
        """The issues and pull requests, open and closed, in which anything changed since, in the shape of issues."""
        return await self._told("/issues", {"state": "all"}, since)

    async def thread_told(self, number: int) -> Told:
        """An issue, or a pull request in the shape of one."""
        return read(await self._channel.get(f"/issues/{number}", kind="issue"), _object)

    async def pull_told(self, number: int) -> Told:
        """A pull request in its own shape."""
        response = await self._channel.get(f"/pulls/{number}", kind="pull", purposes=(Purpose.READ_PULL,))
        return read(response, _object)

    async def editors(self, node_id: str, *, pull_request: bool) -> tuple[tuple[datetime, Account], ...] | None:
        """Who edited a comment or a thread's own text, and when; None where GitHub does not tell of all edits.

        Its first entry may be the writing itself. REST tells only that something was edited.
        """
        purpose = Purpose.READ_PULL if pull_request else Purpose.READ
        try:
            return await self._channel.query(queries.EDITS, _edits, kind="edits", purpose=purpose, id=node_id)
        except NotFound:
            return None

    async def _told(self, path: str, params: Mapping[str, str], since: datetime) -> tuple[Told, ...]:
        # GitHub's times have whole seconds
        at = since.astimezone(UTC).replace(microsecond=0)
        query = {"since": f"{at:%Y-%m-%dT%H:%M:%SZ}", "sort": "updated", "direction": "asc", **params}
        found = await self._channel.pages(path, _objects, kind="since", most=_MOST_PAGES, params=query)
        return tuple(one for one in found if parse.timestamp(one.get("updated_at"), "updated_at") >= at)


def _object(data: Any) -> Told:
    if not isinstance(data, dict):
        raise ValueError("not an object")
    return data


def _objects(data: Any) -> list[Told]:
    if not isinstance(data, list):
        raise ValueError("not a list")
    return [_object(one) for one in data]


def _edits(data: Any) -> tuple[tuple[datetime, Account], ...] | None:
    edits = data["node"]["userContentEdits"]
    if edits is None:
        return ()
    if edits["totalCount"] > len(edits["nodes"]):
        return None
    return tuple((parse.timestamp(one["editedAt"], "editedAt"), _editor(one["editor"])) for one in edits["nodes"])


def _editor(data: Any) -> Account:
    # an actor that has no number of its own can be compared with nobody
    named = data is not None and data.get("databaseId") is not None
    return (
        Account(int(data["databaseId"]), str(data["login"]), str(data["__typename"])) if named else parse.account(None)
    )
