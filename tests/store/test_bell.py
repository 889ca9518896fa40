"""Whoever waits for rows is woken, and whoever waits for a time of day looks at the clock now and then."""

from __future__ import annotations

import asyncio

import pytest

from bot.store.bell import Bell


async def test_no_wait_for_a_time_is_longer_than_the_clock_can_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time-out of a gate in three days is met although the machine slept, or its clock was set."""
    monkeypatch.setattr("bot.store.bell.LONGEST", 0.01)
    async with asyncio.timeout(20):
        await Bell().wait(0, 3 * 86_400)


async def test_who_waits_for_rows_alone_waits_for_the_bell() -> None:
    """However long it takes."""
    bell = Bell()
    waiting = asyncio.ensure_future(bell.wait(bell.count))
    await asyncio.sleep(0)
    assert not waiting.done()
    bell.ring()
    async with asyncio.timeout(20):
        await waiting
