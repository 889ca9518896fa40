"""Reads a request body that must not exceed a size, without ever holding more than that size."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

#: GitHub's cap for a payload: https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap
LIMIT = 25 * 1024 * 1024
#: GitHub itself gives up after 10 seconds
TIMEOUT = 30.0

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class TooLarge(Exception):
    """The body is, or says it is, over the limit."""


class Gone(Exception):
    """The client went away or was too slow."""


async def read(receive: Receive, length: bytes | None, *, limit: int = LIMIT, timeout: float = TIMEOUT) -> bytes:
    """The whole body, in bytes.

    `receive` is ASGI's; `length` is the value of `Content-Length`, which is believed only when it says too much.
    Raises `TooLarge` as soon as the limit is passed (the rest is never read) and `Gone` where the body does not end
    within `timeout` seconds.
    """
    if length is not None and length.isdigit() and int(length[:20]) > limit:
        raise TooLarge
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                part = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise TooLarge
                parts.append(part)
                if not message.get("more_body", False):
                    return parts[0] if len(parts) == 1 else b"".join(parts)
    except TimeoutError:
        raise Gone from None
