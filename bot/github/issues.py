"""Threads opened by the App, found again, and who last changed a file.

Sources: https://docs.github.com/en/rest/issues/issues, https://docs.github.com/en/rest/commits/commits
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bot.errors import Forbidden, NotFound
from bot.github import parse
from bot.github.channel import Channel, read, rows
from bot.model.thread import Account, Issue

#: pages of a hundred of `issues_since`
_MOST_PAGES = 10
#: GitHub's own account, the committer of what is edited or merged on its pages
_WEB_FLOW = "web-flow"


class IssueOpening:
    """The part of `RepositoryClient` that opens threads; the same errors. No write is repeated."""

    _channel: Channel

    async def open_issue(self, title: str, body: str, labels: Sequence[str] = ()) -> Issue:
        """Open an issue; GitHub makes labels that do not exist. Raises NotFound (410) where issues are turned off."""
        json = {"title": title, "body": body, "labels": list(labels)}
        response = await self._channel.write("POST", "/issues", kind="open_issue", json=json)
        return read(response, parse.issue)

    async def issues_since(self, since: datetime, creator: str) -> tuple[Issue, ...]:
        """The issues by one account, open and closed, that were written or changed at `since` or later, newest first.

        Pull requests are left out; a thousand threads of the repository are looked at. `creator` is a login (an App's
        has `[bot]`).
        """
        since = since.astimezone(UTC).replace(microsecond=0)
        # GitHub's own filter by creator is left alone: for the login of an App some servers find nothing by it, and an
        # issue that is not found is opened twice
        params: dict[str, str | int] = {
            "since": f"{since:%Y-%m-%dT%H:%M:%SZ}", "state": "all", "sort": "created", "direction": "desc",
        }  # fmt: skip
        found = await self._channel.pages("/issues", rows(parse.issue), kind="issues", most=_MOST_PAGES, params=params)
        return tuple(
            row
            for row in found
            if not row.is_pull_request and row.updated_at >= since and row.author.login.casefold() == creator.casefold()
        )

    async def last_committer(self, path: str) -> Account | None:
        """Who last changed a file on the default branch; None where no commit did, or its e-mail is nobody's on GitHub.

        For a commit made on GitHub's own pages the author: there the committer is GitHub itself.
        """
        try:
            response = await self._channel.get("/commits", kind="commits", params={"path": path, "per_page": 1})
        except Forbidden as error:
            if error.status == 409:  # the repository is empty
                raise NotFound(str(error)) from None
            raise
        found = read(response, rows(_committer))
        return found[0] if found else None


def _committer(data: Any) -> Account | None:
    person = data.get("committer")
    if person and person.get("login") == _WEB_FLOW:
        person = data.get("author")
    return parse.account(person) if person else None
