"""What the tests of the front door share: a sender that signs as GitHub does, an inbox in memory, example payloads."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from fastapi import FastAPI

from bot.model.delivery import NewDelivery
from bot.webhook import door, route
from bot.webhook.signature import sign

SECRET = b"a secret of the tests"
APP = 7
EXAMPLES = Path(__file__).parent.parent / "contract/node_modules/@octokit/webhooks-examples/api.github.com/index.json"


class MemoryInbox:
    """Keeps deliveries in a list; both identities make a duplicate."""

    def __init__(self, error: Exception | None = None) -> None:
        self.taken: list[NewDelivery] = []
        self.error = error
        self._known: set[tuple[int, str]] = set()

    async def take(self, delivery: NewDelivery) -> Literal["accepted", "duplicate"]:
        if self.error:
            raise self.error
        identities = {(delivery.app_id, delivery.guid), (delivery.app_id, delivery.content)}
        if identities & self._known:
            return "duplicate"
        self._known |= identities
        self.taken.append(delivery)
        return "accepted"


def client(inbox: MemoryInbox, *, limit: int = 1 << 20, timeout: float = 30) -> httpx.AsyncClient:
    """An HTTP client in front of nothing but the webhook route."""
    app = FastAPI()
    app.include_router(route(door(inbox, secrets=[SECRET, b"the next one"], app_id=APP, limit=limit, timeout=timeout)))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://bot.example")


def headers(body: bytes, *, event: str = "issue_comment", guid: str = "guid-1", **more: str) -> dict[str, str]:
    """GitHub's headers for a body; further ones, or others, by name with `_` for `-`."""
    out = {
        "content-type": "application/json",
        "x-github-event": event,
        "x-github-delivery": guid,
        "x-hub-signature-256": sign(SECRET, body).decode(),
    }
    return out | {name.replace("_", "-"): value for name, value in more.items()}


def comment_payload(text: str = "@bot help", **comment: Any) -> dict[str, Any]:
    """An `issue_comment.created` payload with the fields that matter."""
    person = {"id": 11, "login": "ana", "type": "User"}
    times = {"created_at": "2025-11-03T10:00:00Z", "updated_at": "2025-11-03T10:00:00Z"}
    return {
        "action": "created",
        "comment": {"id": 501, "user": person, "body": text, **times, **comment},
        "issue": {"id": 301, "number": 3, "title": "Crash", "body": "It crashes", "user": person, **times},
        "repository": {"id": 101, "name": "widgets", "owner": person, "default_branch": "main"},
        "installation": {"id": 9},
        "sender": person,
    }


def encoded(payload: object) -> bytes:
    return json.dumps(payload).encode()


def examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """GitHub's example payloads with their events, from npm; without them the test is skipped, in CI it fails."""
    if not EXAMPLES.exists():
        reason = "npm install --prefix tests/contract brings GitHub's example payloads; they are not there"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    for event in json.loads(EXAMPLES.read_text()):
        for payload in event["examples"]:
            yield event["name"], payload


async def pieces(body: bytes, size: int = 65_536) -> AsyncIterator[bytes]:
    """A body in pieces: httpx sends it chunked, without a length."""
    for start in range(0, len(body), size):
        yield body[start : start + size]
