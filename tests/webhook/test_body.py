"""Reading a body without holding more than its limit."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import MutableMapping
from typing import Any

import pytest

from bot.webhook.body import LIMIT, SMALL_SHARE, Budget, Busy, Gone, TooLarge, read

MIB = 1 << 20


class Stream:
    """An ASGI `receive` that gives `count` fresh pieces of `size` bytes; endless without a count."""

    def __init__(self, size: int, count: int | None = None) -> None:
        self.size, self.count, self.given = size, count, 0

    async def __call__(self) -> MutableMapping[str, Any]:
        self.given += 1
        return {"type": "http.request", "body": bytes(self.size), "more_body": self.given != self.count}


async def test_the_limit_itself_is_allowed() -> None:
    """A body of exactly the limit is read whole, in one piece or in several."""
    assert len(await read(Stream(10, 1), b"10", limit=10)) == 10
    assert len(await read(Stream(5, 2), None, limit=10)) == 10


async def test_a_length_over_the_limit_is_refused_unread() -> None:
    """With a `Content-Length` over the limit not one piece is read."""
    for length in (b"11", b"9" * 5000):
        stream = Stream(1)
        with pytest.raises(TooLarge):
            await read(stream, length, limit=10)
        assert stream.given == 0


@pytest.mark.parametrize("length", [None, b"5", b"nonsense"])
async def test_an_endless_body_is_given_up_at_the_limit(length: bytes | None) -> None:
    """Without a length, or with one that lies, reading stops with the piece that passes 25 MB; memory stays flat."""
    stream = Stream(MIB)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            await read(stream, length)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert stream.given == LIMIT // MIB + 1
    assert peak < LIMIT + 3 * MIB
    assert now < 3 * MIB


async def test_a_client_that_leaves_is_gone() -> None:
    """A disconnect in the middle ends the reading."""

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    with pytest.raises(Gone):
        await read(receive, None)


async def test_a_client_that_stalls_is_gone() -> None:
    """A body that never comes does not hold the connection for ever."""

    async def receive() -> MutableMapping[str, Any]:
        await asyncio.Event().wait()
        return {}

    with pytest.raises(Gone):
        await read(receive, b"5", held=Budget(timeout=0.01).hold())


async def test_each_body_has_its_own_time() -> None:
    """One look serves all that arrive: who is whole by then is left alone, who began later has his time."""
    budget = Budget(timeout=0.01)
    whole, later = budget.hold(), budget.hold()
    assert len(await read(Stream(10, 1), None, held=whole)) == 10
    later.since += 0.05
    begun = asyncio.get_running_loop().time()
    with pytest.raises(Gone):
        await asyncio.wait_for(read(Stalled(MIB), None, held=later), 5)
    assert asyncio.get_running_loop().time() - begun > 0.04
    with whole:
        assert budget.free[False] == SMALL_SHARE - 10


def test_a_budget_outlives_a_loop() -> None:
    """A body in the next loop has its time too."""
    budget = Budget(timeout=0.01)

    async def stalls() -> None:
        await asyncio.wait_for(read(Stalled(MIB), None, held=budget.hold()), 5)

    async def passes() -> None:
        await read(Stream(10, 1), None, held=budget.hold())

    asyncio.run(passes())
    for _ in range(2):
        with pytest.raises(Gone):
            asyncio.run(stalls())


async def test_bodies_under_way_share_a_budget() -> None:
    """Large bodies held open leave nothing for another large one, and small ones still pass; all is given back."""
    budget = Budget(large=5 * MIB, small=MIB)
    with budget.hold() as first, budget.hold() as second, budget.hold() as third:
        assert len(await read(Stream(MIB, 3), None, held=first)) == 3 * MIB
        with pytest.raises(Busy):
            await read(Stream(MIB), None, held=second)
        assert len(await read(Stream(MIB, 1), None, held=third)) == MIB
    assert budget.free == {True: 5 * MIB, False: MIB}


async def test_who_waits_gives_way_to_who_sends() -> None:
    """Where there is no room, the body that has been arriving longest ends; one that is whole keeps its room."""
    budget = Budget(large=0, small=3 * MIB, grace=0)
    stalled = Stalled(MIB)

    async def waits() -> None:
        with budget.hold() as held:
            await read(stalled, None, held=held)

    with budget.hold() as whole:
        await read(Stream(MIB, 1), None, held=whole)
        first, second = asyncio.create_task(waits()), asyncio.create_task(waits())
        await asyncio.wait_for(stalled.twice.wait(), 5)
        with budget.hold() as good:
            assert len(await read(Stream(MIB, 1), None, held=good)) == MIB
            with pytest.raises(Gone):
                await first
            assert not second.done()
            with budget.hold() as better:
                assert len(await read(Stream(MIB, 1), None, held=better)) == MIB
                with pytest.raises(Gone):
                    await second
                with budget.hold() as late, pytest.raises(Busy):
                    await read(Stream(MIB, 1), None, held=late)
    assert budget.free == {True: 0, False: 3 * MIB}


async def test_a_body_has_its_time_before_it_gives_way() -> None:
    """Others wait that long."""
    budget = Budget(large=0, small=2 * MIB, grace=60)
    stalled = Stalled(MIB)

    async def waits() -> None:
        with budget.hold() as held:
            await read(stalled, None, held=held)

    tasks = [asyncio.create_task(waits()) for _ in range(2)]
    await asyncio.wait_for(stalled.twice.wait(), 5)
    with budget.hold() as good, pytest.raises(Busy):
        await read(Stream(MIB, 1), None, held=good)
    for task in tasks:
        task.cancel()
    assert await asyncio.gather(*tasks, return_exceptions=True) != [None, None]
    assert budget.free == {True: 0, False: 2 * MIB}


class Stalled:
    """An ASGI `receive` of several requests: each gets one piece, and then nothing."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.given: set[asyncio.Task[Any] | None] = set()
        self.twice = asyncio.Event()

    async def __call__(self) -> MutableMapping[str, Any]:
        if asyncio.current_task() in self.given:
            await asyncio.Event().wait()
        self.given.add(asyncio.current_task())
        if len(self.given) == 2:
            asyncio.get_running_loop().call_soon(self.twice.set)
        return {"type": "http.request", "body": bytes(self.size), "more_body": True}
