"""What is done to a thread beside talking in it: labels, assignees, closing.

Each of these sets something, so that doing it twice is doing it once. Sent once all the same, as every write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from bot.errors import NotFound
from bot.github import parse
from bot.github.channel import Channel, read

#: GitHub's words for why an issue is closed
#: Source: https://docs.github.com/en/rest/issues/issues#update-an-issue
CLOSE_REASONS = ("completed", "not_planned", "duplicate")
#: what a 404 says that is about the label, not about the thread
_NO_LABEL = "label does not exist"


class ThreadWrites:
    """The part of `RepositoryClient` that sets things on a thread; the same errors, the same `pull_request`."""

    _channel: Channel

    async def add_labels(self, number: int, labels: Sequence[str], *, pull_request: bool = False) -> tuple[str, ...]:
        """Put labels on a thread; GitHub makes those that do not exist. Returns all that it has now.

        Source: https://docs.github.com/en/rest/issues/labels#add-labels-to-an-issue
        """
        path, json = f"/issues/{number}/labels", {"labels": list(labels)}
        response = await self._channel.write("POST", path, kind="add_labels", json=json, pull_request=pull_request)
        return read(response, _label_names)

    async def remove_label(self, number: int, label: str, *, pull_request: bool = False) -> bool:
        """Take a label off a thread; False where it was not there.

        Source: https://docs.github.com/en/rest/issues/labels#remove-a-label-from-an-issue
        """
        path = f"/issues/{number}/labels/{quote(label, safe='')}"
        try:
            await self._channel.write("DELETE", path, kind="remove_label", json=None, pull_request=pull_request)
        except NotFound as error:
            if _NO_LABEL not in str(error).lower():
                raise
            return False
        return True

    async def add_assignees(self, number: int, logins: Sequence[str], *, pull_request: bool = False) -> tuple[str, ...]:
        """Assign people, ten at most in all. Returns who is assigned now: whom GitHub cannot assign it leaves out.

        Source: https://docs.github.com/en/rest/issues/assignees#add-assignees-to-an-issue
        """
        path, json = f"/issues/{number}/assignees", {"assignees": list(logins)}
        response = await self._channel.write("POST", path, kind="add_assignees", json=json, pull_request=pull_request)
        return read(response, _assignees)

    async def close(self, number: int, reason: str | None = None, *, pull_request: bool = False) -> None:
        """Close a thread. `reason` is one of `CLOSE_REASONS`; a pull request is closed without one."""
        json: dict[str, Any] = {"state": "closed"}
        if reason is not None and not pull_request:
            json["state_reason"] = reason
        path = f"/issues/{number}"
        await self._channel.write("PATCH", path, kind="close", json=json, pull_request=pull_request)


def _label_names(body: Any) -> tuple[str, ...]:
    if not isinstance(body, list):
        raise parse.Unreadable("labels: not a list")
    return tuple(str(item["name"]) for item in body)


def _assignees(body: Any) -> tuple[str, ...]:
    return tuple(parse.account(item).login for item in body["assignees"])
