"""Webhooks as GitHub sends them: signed, numbered, logged, delivered once unless somebody asks again.

Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from bot.demo.records import App

if TYPE_CHECKING:
    from bot.demo.state import State

#: seconds after which GitHub gives up waiting for an answer
TIMEOUT = 10.0
_USER_AGENT = "GitHub-Hookshot/044aadd"


@dataclass(slots=True, eq=False)
class Delivery:
    """One webhook: the bytes that are signed, and every attempt to deliver them."""

    guid: str
    event: str
    action: str | None
    body: bytes
    app: App
    installation_id: int | None
    repository_id: int | None
    at: datetime
    attempts: list[Attempt] = field(default_factory=list)

    def payload(self) -> dict[str, Any]:
        """The body as JSON."""
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed

    def headers(self, secret: str | None = None) -> dict[str, str]:
        """The request's headers; `secret` instead of the App's makes a forged signature."""
        key = (self.app.webhook_secret if secret is None else secret).encode()
        return {
            "Accept": "*/*",
            "Content-Type": "application/json",
            "User-Agent": _USER_AGENT,
            "X-GitHub-Delivery": self.guid,
            "X-GitHub-Event": self.event,
            "X-GitHub-Hook-ID": str(self.app.id * 10 + 1),
            "X-GitHub-Hook-Installation-Target-ID": str(self.app.id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature": "sha1=" + hmac.new(key, self.body, hashlib.sha1).hexdigest(),
            "X-Hub-Signature-256": "sha256=" + hmac.new(key, self.body, hashlib.sha256).hexdigest(),
        }


@dataclass(slots=True, eq=False)
class Attempt:
    """One request with what became of it; `status_code` 502 and 504 stand for no connection and no answer in time."""

    id: int
    delivery: Delivery
    at: datetime
    duration: float
    status: str
    status_code: int
    redelivery: bool
    headers: Mapping[str, str]
    response_headers: Mapping[str, str]
    response: str


class Deliverer:
    """Posts an App's webhooks to `url` in the order they were made, `concurrency` at a time, while it is entered.

    What was made before it was entered goes out first. Nothing is tried twice by itself, as on GitHub.
    """

    def __init__(
        self,
        world: State,
        url: str,
        *,
        app: App | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        concurrency: int = 1,
        timeout: float = TIMEOUT,
    ) -> None:
        self.url = url
        self._world = world
        self._app = app
        self._client = httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False)
        self._concurrency = concurrency
        self._queue: asyncio.Queue[tuple[Delivery, bool]] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Deliverer:
        await self._stack.enter_async_context(self._client)
        for made in self._world.deliveries:
            if not made.attempts:
                self._offer(made, False)
        self._world.outgoing.append(self._offer)
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._concurrency)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._world.outgoing.remove(self._offer)
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        await self._stack.aclose()

    def _offer(self, made: Delivery, redelivery: bool) -> None:
        if self._app is None or made.app is self._app:
            self._queue.put_nowait((made, redelivery))

    async def _work(self) -> None:
        while True:
            made, redelivery = await self._queue.get()
            try:
                await self.deliver(made, redelivery=redelivery)
            finally:
                self._queue.task_done()

    async def settle(self) -> None:
        """Wait until everything made so far was delivered or failed."""
        await self._queue.join()

    async def deliver(self, made: Delivery, *, redelivery: bool = False) -> Attempt:
        """Post one delivery now and log the attempt."""
        headers = made.headers()
        started, at = time.monotonic(), self._world.now()
        code, status, answer_headers, text = 200, "OK", dict[str, str](), ""
        try:
            answer = await self._client.post(self.url, content=made.body, headers=headers)
            code, status, text = answer.status_code, answer.reason_phrase or "OK", answer.text
            answer_headers = dict(answer.headers)
        except httpx.TimeoutException:
            code, status = 504, "timed out"
        except httpx.TransportError:
            code, status = 502, "failed to connect to host"
        duration = time.monotonic() - started
        attempt = Attempt(
            self._world.next_id("attempt"), made, at, duration, status, code, redelivery, headers, answer_headers, text
        )
        made.attempts.append(attempt)
        self._world.attempts.append(attempt)
        return attempt

    async def redeliver(self, guid: str) -> Attempt:
        """Post the same body under the same GUID, as the button *Redeliver* does."""
        return await self.deliver(self._world.delivery(guid), redelivery=True)

    async def replay(self, guid: str, event: str | None = None) -> Attempt:
        """Post the same body under a new GUID (and event name), as somebody who captured it would."""
        made = self._world.delivery(guid)
        copy = Delivery(
            self._world.new_guid(), event or made.event, made.action, made.body, made.app, made.installation_id,
            made.repository_id, made.at,
        )  # fmt: skip
        self._world.deliveries.append(copy)
        return await self.deliver(copy)
