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


#: a larger body is one of the large ones, which have a share of the memory of their own
SMALL = 1024 * 1024
#: bytes that large bodies may hold together while they arrive and are looked at, and that small ones may
LARGE_SHARE = 64 * 1024 * 1024
SMALL_SHARE = 32 * 1024 * 1024


class Busy(Exception):
    """Other bodies under way hold all the memory that there is for them."""


class Budget:
    """The memory of all bodies under way: whoever holds many large ones open keeps out no small one."""

    def __init__(self, large: int = LARGE_SHARE, small: int = SMALL_SHARE) -> None:
        self.free = {True: large, False: small}

    def hold(self) -> Held:
        """What one body holds, nothing yet. Leaving it as a context gives everything back."""
        return Held(self)


class Held:
    """The bytes of one body. It counts as small until it has more than `SMALL`."""

    def __init__(self, budget: Budget) -> None:
        self._free = budget.free
        self._size = 0
        self._large = False

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *error: object) -> None:
        self._free[self._large] += self._size
        self._size = 0

    def grow(self, size: int) -> None:
        """The body has `size` bytes now. Raises `Busy`."""
        self._free[self._large] += self._size
        self._large, self._size = size > SMALL, 0
        if self._free[self._large] < size:
            raise Busy
        self._free[self._large] -= size
        self._size = size


class TooLarge(Exception):
    """The body is, or says it is, over the limit."""


class Gone(Exception):
    """The client went away or was too slow."""


def says_too_much(length: bytes | None, limit: int) -> bool:
    """Whether `Content-Length` itself is over the limit."""
    return length is not None and length.isdigit() and int(length[:20]) > limit


async def read(
    receive: Receive,
    length: bytes | None,
    *,
    limit: int = LIMIT,
    timeout: float = TIMEOUT,
    held: Held | None = None,
) -> bytes:
    """The whole body, in bytes.

    `receive` is ASGI's; `length` is the value of `Content-Length`, which is believed only when it says too much.
    Raises `TooLarge` as soon as the limit is passed (the rest is never read), `Gone` where the body does not end
    within `timeout` seconds, and `Busy` where `held` cannot grow.
    """
    if says_too_much(length, limit):
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
                if held is not None:
                    held.grow(size)
                parts.append(part)
                if not message.get("more_body", False):
                    return parts[0] if len(parts) == 1 else b"".join(parts)
    except TimeoutError:
        raise Gone from None
