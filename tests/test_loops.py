"""Loops that come again after what they raise, and those that do not."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from structlog.testing import capture_logs

from bot import loops
from bot.errors import Transient
from bot.loops import Loops
from tests.github.fake import FakeClock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Failing:
    """Works `lasts` seconds before each failure; goes on for ever after `times` of them."""

    def __init__(self, clock: FakeClock, error: Exception, times: int, lasts: float = 0.0) -> None:
        self.clock, self.error, self.times, self.lasts = clock, error, times, lasts
        self.begun = 0
        self.well = asyncio.Event()

    async def run(self) -> None:
        self.begun += 1
        if self.begun > self.times:
            self.well.set()
            await asyncio.Event().wait()
        self.clock.advance(self.lasts)
        raise self.error


async def test_what_is_beside_comes_again_seldomer_each_time() -> None:
    """Told each time; nothing of it has stopped, and who asks hears for an hour what it was, in no row's words."""
    clock = FakeClock(NOW)
    work, running = Failing(clock, ValueError("odd row"), 9), Loops(clock)
    with capture_logs() as told:
        running.start({}, beside={"upkeep": work.run})
        await asyncio.wait_for(work.well.wait(), 5)
    assert clock.slept == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert {(line["event"], line["loop"], line["reason"]) for line in told} == {("loop_failed", "upkeep", "odd row")}
    assert isinstance(told[0]["exc_info"], ValueError)
    assert (running.stopped, running.failing) == ((), {"upkeep": "ValueError"})
    clock.advance(1)
    assert running.failing == {}
    await running.stop()


async def test_one_that_worked_for_long_comes_again_soon() -> None:
    """And what is known to happen has no traceback, and is told in its words."""
    clock = FakeClock(NOW)
    work, running = Failing(clock, Transient("busy"), 3, lasts=4000), Loops(clock)
    with capture_logs() as told:
        running.start({}, beside={"upkeep": work.run})
        await asyncio.wait_for(work.well.wait(), 5)
    assert clock.slept == [60, 60, 60]
    assert running.failing == {"upkeep": "busy"}
    assert {line["exc_info"] for line in told} == {None}
    await running.stop()


async def test_a_vital_one_is_told_and_stays_ended() -> None:
    """Its rows may be half done: somebody has to look."""
    clock = FakeClock(NOW)
    work, running = Failing(clock, ValueError("a bug"), 9), Loops(clock)
    with capture_logs() as told:
        running.start({"outbox": work.run})
        await asyncio.wait([running.named("outbox")])
        await asyncio.sleep(0)
    assert (work.begun, running.stopped, running.failing) == (1, ("outbox",), {})
    assert [(line["event"], line["loop"]) for line in told] == [("loop_stopped", "outbox")]
    assert ("outbox" in running, "workers" in running) == (True, False)
    await running.stop()


async def test_groups_end_in_the_opposite_order() -> None:
    """One that takes its time keeps the others' reserve."""
    ended: list[str] = []

    async def until_told(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    running = Loops(FakeClock(NOW))
    for name in ("presence", "outbox", "intake"):
        running.start({name: lambda name=name: until_told(name)})  # type: ignore[misc]
    await asyncio.sleep(0)
    with capture_logs() as told:
        await running.stop()
    assert ended == ["intake", "outbox", "presence"]
    assert told == []
    assert loops.STOP_SECONDS > 3 * loops.STOP_RESERVE
