"""Reads a request body that must not exceed a size, without ever holding more than that size."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from bot.model.clock import monotonic

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
#: seconds after which a body that still arrives gives way to others, where there is no room
GRACE = 3.0


class Busy(Exception):
    """Other bodies under way hold all the memory that there is for them."""


class Budget:
    """The memory of all bodies under way: whoever holds many large ones open keeps out no small one.

    Where it is used up, the bodies that have been arriving longest give way to new ones: GitHub's come in a moment, and
    who sends a little and then waits must not keep them out. `grace` is how many seconds each has before that, and
    `timeout` how many it has at all.
    """

    def __init__(
        self,
        large: int = LARGE_SHARE,
        small: int = SMALL_SHARE,
        grace: float = GRACE,
        timeout: float = TIMEOUT,
    ) -> None:
        self.free = {True: large, False: small}
        self._grace, self._timeout = grace, timeout
        #: in the order in which they began
        self._arriving: dict[Held, None] = {}
        #: the loop in which a look at their time is due. One for all of them: nearly every body is whole at once, and
        #: to set a timer for each costs as much as to read it
        self._watched: asyncio.AbstractEventLoop | None = None

    def hold(self) -> Held:
        """What one body holds, nothing yet. Leaving it as a context gives everything back."""
        return Held(self)

    def arrives(self, held: Held) -> None:
        """From now on it may have to give way, and has to be whole in time."""
        self._arriving[held] = None
        loop = asyncio.get_running_loop()
        if self._watched is not loop:
            self._watch(loop, self._timeout)

    def arrived(self, held: Held) -> None:
        """It is whole, or gone."""
        self._arriving.pop(held, None)

    def make_room(self, size: int, *, large: bool, but: Held) -> None:
        """Give up what arrives longest, as far as that helps. In the order in which they began."""
        before = monotonic() - self._grace
        for held in tuple(self._arriving):
            if self.free[large] >= size or held.since > before:
                return
            if held.large == large and held is not but:
                held.give_up()

    def _watch(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._watched = loop
        loop.call_later(seconds, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give up what had its time; the next look is when the next one will have had it."""
        if self._watched is not loop:
            return  # another loop's bodies; whoever has used two at once has a timer in each
        self._watched = None
        now = monotonic()
        for held in tuple(self._arriving):
            left = held.since + self._timeout - now
            if left > 0:
                self._watch(loop, left)
                return
            held.give_up()


class Held:
    """The bytes of one body. It counts as small until it has more than `SMALL`."""

    __slots__ = ("_budget", "_given_up", "_limit", "_size", "large", "since")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._size = 0
        self.large = False
        self.since = monotonic()
        self._limit: asyncio.Timeout | None = None
        self._given_up = False

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *error: object) -> None:
        self._give_back()

    def arrives(self, limit: asyncio.Timeout) -> None:
        """Until it `arrived` it may be given up: then `limit` ends at once."""
        self._limit = limit
        self._budget.arrives(self)

    def arrived(self) -> None:
        """It is whole, or gone."""
        self._limit = None
        self._budget.arrived(self)

    def grow(self, size: int) -> None:
        """The body has `size` bytes now. Raises `Busy`."""
        self._give_back()
        self.large = size > SMALL
        free = self._budget.free
        if free[self.large] < size:
            self._budget.make_room(size, large=self.large, but=self)
        if self._given_up or free[self.large] < size:
            raise Busy
        free[self.large] -= size
        self._size = size

    def give_up(self) -> None:
        """Others need the room, or its time is over: it ends as one that did not arrive in time."""
        self._give_back()
        self._given_up = True
        if self._limit is not None:
            self._limit.reschedule(-1)
        self.arrived()

    def _give_back(self) -> None:
        self._budget.free[self.large] += self._size
        self._size = 0


class TooLarge(Exception):
    """The body is, or says it is, over the limit."""


class Gone(Exception):
    """The client went away or was too slow."""


def says_too_much(length: bytes | None, limit: int) -> bool:
    """Whether `Content-Length` itself is over the limit."""
    return length is not None and length.isdigit() and int(length[:20]) > limit


async def read(receive: Receive, length: bytes | None, *, limit: int = LIMIT, held: Held | None = None) -> bytes:
    """The whole body, in bytes.

    `receive` is ASGI's; `length` is the value of `Content-Length`, which is believed only when it says too much.
    Raises `TooLarge` as soon as the limit is passed (the rest is never read), `Gone` where the body does not end in
    time or had to give way, and `Busy` where `held` cannot grow.
    """
    if says_too_much(length, limit):
        raise TooLarge
    if held is None:
        held = Budget().hold()
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(None) as until:
            held.arrives(until)
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                part = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise TooLarge
                held.grow(size)
                parts.append(part)
                if not message.get("more_body", False):
                    return parts[0] if len(parts) == 1 else b"".join(parts)
    except TimeoutError:
        raise Gone from None
    finally:
        held.arrived()
