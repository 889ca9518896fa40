"""A log of deliveries as a test wrote it down, page after page."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from bot.errors import BotError
from bot.model.delivery import LoggedAttempt, LoggedRequest, LogPage
from tests.webhook.senders import comment_payload

NOW = datetime.fromisoformat("2026-11-03T12:00:00+00:00")


class WrittenLog:
    """Newest first; `faults` are raised by the next requests, before anything is told."""

    def __init__(self, size: int = 100) -> None:
        self.size = size
        self.at = NOW
        self.attempts: list[LoggedAttempt] = []
        self.requests: dict[int, LoggedRequest] = {}
        self.asked: list[int] = []
        self.pages = 0
        self.faults: list[BotError] = []

    def add(
        self,
        guid: str,
        *,
        ago: timedelta = timedelta(minutes=5),
        code: int = 502,
        event: str = "issue_comment",
        action: str = "created",
        answer: str = "",
        payload: dict[str, Any] | None = None,
        comment_id: int | None = None,
    ) -> LoggedAttempt:
        """One more attempt; its request is there to be asked for."""
        number = 1000 + len(self.attempts)
        made = LoggedAttempt(number, guid, NOW - ago, event, action, code, "OK" if code < 300 else "failed")
        self.attempts = sorted([made, *self.attempts], key=lambda one: (one.at, one.id), reverse=True)
        body = comment_payload(id=comment_id or number) if payload is None else payload
        headers = {"x-github-event": event, "x-github-delivery": guid, "x-hub-signature-256": "sha256=0"}
        self.requests[number] = LoggedRequest(body, headers, answer)
        return made

    async def page(self, cursor: str | None) -> LogPage:
        """So many attempts from the cursor on."""
        self.fail()
        self.pages += 1
        start = int(cursor or 0)
        end = start + self.size
        following = str(end) if end < len(self.attempts) else None
        return LogPage(tuple(self.attempts[start:end]), following, self.at)

    async def request(self, attempt_id: int) -> LoggedRequest:
        """What was sent."""
        self.asked.append(attempt_id)
        self.fail()
        return self.requests[attempt_id]

    def fail(self) -> None:
        if self.faults:
            raise self.faults.pop(0)


def ours(status: str) -> str:
    """What our front door answers."""
    return json.dumps({"delivery": "g", "status": status})
