"""GitHub's own log of the webhooks that it sent to the App, or could not deliver.

It goes back 3 days on github.com and 7 on GitHub Enterprise Server; nothing in it is tried again by itself.
Source: https://docs.github.com/en/rest/apps/webhooks,
https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from bot.github import parse, retry
from bot.github.channel import read, rows
from bot.github.tokens import Signer, as_app
from bot.github.wire import Wire
from bot.model.delivery import LoggedAttempt, LoggedRequest, LogPage

_LOG = "/app/hook/deliveries"
#: the most that GitHub puts on a page
PER_PAGE = 100


class HookLog:
    """Reads the log for `GitHub`. Every call may raise `Transient`, `NotFound` and `Forbidden`."""

    def __init__(self, wire: Wire, signer: Signer) -> None:
        self._wire = wire
        self._signer = signer

    async def page(self, cursor: str | None) -> LogPage:
        """A hundred attempts, newest first; `cursor` as the page before told it, None for the newest."""
        params: dict[str, str | int] = {"per_page": PER_PAGE}
        if cursor is not None:
            params["cursor"] = cursor
        response = await self._ask("GET", _LOG, params=params)
        found = read(response, rows(_attempt))
        return LogPage(found, _next(response), retry.server_time(response) or self._wire.clock.now())

    async def request(self, attempt_id: int) -> LoggedRequest:
        """What was sent in an attempt. Raises NotFound where the log no longer has it."""
        return read(await self._ask("GET", f"{_LOG}/{attempt_id}"), _request)

    async def redeliver(self, attempt_id: int) -> None:
        """Ask GitHub to send it once more, under the same GUID; not repeated, raises `Unsure` besides."""
        await self._ask("POST", f"{_LOG}/{attempt_id}/attempts")

    async def _ask(self, method: str, path: str, params: Mapping[str, str | int] | None = None) -> httpx.Response:
        response = await as_app(self._wire, self._signer, method, path, kind="hook_log", params=params)
        error = retry.final(response, what=f"{method} {path}")
        if error is not None:
            raise error
        return response


def _next(response: httpx.Response) -> str | None:
    """The cursor of the next page: GitHub says what it is nowhere but in that address."""
    try:
        cursor: str | None = httpx.URL(response.links.get("next", {}).get("url", "")).params.get("cursor")
    except httpx.InvalidURL:
        return None
    return cursor


def _attempt(data: Any) -> LoggedAttempt:
    return LoggedAttempt(
        id=int(data["id"]),
        guid=str(data["guid"]),
        at=parse.timestamp(data["delivered_at"], "delivered_at"),
        event=str(data["event"]),
        action=data.get("action") or "",
        status_code=int(data.get("status_code") or 0),
        status=str(data.get("status") or ""),
        redelivery=data.get("redelivery") is True,
    )


def _request(data: Any) -> LoggedRequest:
    sent, back = data["request"], data.get("response") or {}
    payload, answer = sent.get("payload"), back.get("payload")
    if isinstance(payload, str):  # described as an object, but the field of a form is text
        payload = json.loads(payload)
    return LoggedRequest(
        payload=payload if isinstance(payload, dict) else None,
        headers={str(name).lower(): str(value) for name, value in (sent.get("headers") or {}).items()},
        answer=answer if isinstance(answer, str) else json.dumps(answer) if answer else "",
    )
