"""The loop that reads GitHub's log: from the last landmark, within bounds, every ten minutes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar

import pytest
from sqlmodel import select

from bot.dispatch import Missed, Parts, missed
from bot.dispatch.log_reading import KEPT
from bot.errors import Forbidden, Lost, Transient
from bot.store import landmarks
from bot.store.tables import Delivery
from bot.webhook import admit
from tests.dispatch.hook_log import NOW, WrittenLog, ours
from tests.dispatch.scene import APP_ID, MARKER, Scene

DAY = timedelta(days=1)


class FakeScan:
    """Counts how far it was asked to go; ends after so many looks."""

    made: ClassVar[list[dict[str, Any]]] = []
    looks: ClassVar[int] = 1

    def __init__(self, *_: object, **between: Any) -> None:
        FakeScan.made.append(between)
        self.left = FakeScan.looks

    async def go(self, repositories: int) -> bool:
        self.left -= 1
        return self.left <= 0


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The scans that were begun."""
    monkeypatch.setattr(missed, "ThreadScan", FakeScan)
    FakeScan.made, FakeScan.looks = [], 1
    return FakeScan.made


class Watched:
    """A `Missed` on a scene whose log is written down; its clock is that of the log."""

    def __init__(self, scene: Scene, **bounds: int) -> None:
        self.scene, self.log, self.bounds = scene, WrittenLog(), bounds
        scene.clock.advance((NOW - scene.clock.now()).total_seconds())
        self.start()

    def start(self) -> None:
        """Another process begins."""
        s = self.scene
        s.github.hook_log = self.log  # type: ignore[assignment]
        parts = Parts(s.store, s.github, s.identities, s.memo, MARKER, s.speaker, s.clock)
        self.missed = Missed(parts, APP_ID, admit, **self.bounds)

    async def reached(self) -> datetime | None:
        return await self.scene.store.read(lambda session: landmarks.reached(session, missed.LANDMARK))

    async def reach(self, at: datetime) -> None:
        await self.scene.store.write(lambda session: landmarks.reach(session, missed.LANDMARK, at))

    async def guids(self) -> list[str]:
        return await self.scene.store.read(lambda session: sorted(session.exec(select(Delivery.guid))))

    def passes(self, time: timedelta) -> None:
        self.scene.clock.advance(time.total_seconds())
        self.log.at += time


async def test_from_landmark_to_landmark(scene: Scene, scans: list[dict[str, Any]]) -> None:
    """The first reading goes back three days; the next ones to the start of the last, and a little over."""
    here = Watched(scene)
    here.log.add("old", ago=KEPT + DAY)
    here.log.add("g1", ago=2 * DAY)
    assert await here.missed.look()
    assert (await here.guids(), await here.reached()) == (["g1"], NOW)
    here.log.add("g2", ago=missed.OVERLAP - timedelta(seconds=1))
    here.log.add("g3", ago=missed.OVERLAP + timedelta(seconds=1))
    here.passes(missed.EVERY)
    assert await here.missed.look()
    assert (await here.guids(), await here.reached()) == (["g1", "g2"], NOW + missed.EVERY)
    assert scans == []


async def test_pages_and_fetches_are_bounded(scene: Scene, scans: list[dict[str, Any]]) -> None:
    """A reading that ends early goes on at the next look; another process goes on from what was done."""
    here = Watched(scene, pages=2, fetches=3)
    await here.reach(NOW - DAY)
    here.log.size = 2
    for number in range(7):
        here.log.add(f"g{number}", ago=timedelta(minutes=100 - number))
    assert not await here.missed.look()
    assert (here.log.pages, here.log.asked, await here.reached()) == (2, [], NOW - DAY)
    assert not await here.missed.look()
    assert (here.log.pages, len(here.log.asked)) == (4, 3)
    assert await here.reached() == NOW - timedelta(minutes=97)
    here.start()
    assert not await here.missed.look()
    assert not await here.missed.look()
    assert await here.missed.look()
    assert await here.guids() == [f"g{number}" for number in range(7)]
    assert (len(here.log.asked), await here.reached()) == (7, NOW)


async def test_a_first_reading_that_is_interrupted_begins_again(scene: Scene, scans: list[dict[str, Any]]) -> None:
    """Until it is over nothing tells what was another database's to answer."""
    here = Watched(scene, fetches=1)
    here.log.add("g1", ago=2 * DAY)
    here.log.add("g2", ago=DAY)
    here.log.add("theirs", ago=DAY, code=200, answer="OK")
    assert not await here.missed.look()
    assert await here.reached() is None
    here.log.faults = [Transient("limit", limited=True)]
    with pytest.raises(Transient):
        await here.missed.look()
    assert await here.reached() is None
    here.start()
    assert await here.missed.look()
    assert (await here.guids(), await here.reached()) == (["g1", "g2"], NOW)


async def test_a_fault_keeps_what_was_done(scene: Scene, scans: list[dict[str, Any]]) -> None:
    """The landmark stands where the fault was met."""
    here = Watched(scene)
    await here.reach(NOW - DAY)
    here.log.add("g1", ago=timedelta(hours=3))
    bad = here.log.add("g2", ago=timedelta(hours=2))
    real = here.log.request

    async def request(attempt_id: int) -> Any:
        if attempt_id == bad.id:
            raise Transient("500")
        return await real(attempt_id)

    here.log.request = request  # type: ignore[method-assign]
    with pytest.raises(Transient):
        await here.missed.look()
    assert (await here.guids(), await here.reached()) == (["g1"], NOW - timedelta(hours=2))


async def test_a_log_that_does_not_go_back_to_where_we_were(scene: Scene, scans: list[dict[str, Any]]) -> None:
    """Threads are read for the time before; that comes first, and at most a month of it."""
    here = Watched(scene)
    await here.reach(NOW - 5 * DAY)
    here.log.add("g1", ago=DAY)
    FakeScan.looks = 2
    assert not await here.missed.look()
    assert (await here.guids(), await here.reached()) == ([], NOW - 5 * DAY)
    assert await here.missed.look()
    assert (await here.guids(), await here.reached()) == (["g1"], NOW)
    until = NOW - KEPT + timedelta(hours=1)
    assert scans == [{"since": NOW - 5 * DAY - missed.OVERLAP, "until": until}]
    assert await here.missed.look()
    here.passes(60 * DAY)
    FakeScan.looks = 1
    assert await here.missed.look()
    assert (len(scans), scans[1]["since"]) == (2, NOW + 30 * DAY)


async def test_an_empty_log_after_a_start(scene: Scene, scans: list[dict[str, Any]]) -> None:
    """We were away, and the log knows of nothing at all: the threads are asked, once."""
    here = Watched(scene)
    assert await here.missed.look()
    assert scans == []  # nothing says that anything was missed
    here.passes(timedelta(hours=2))
    assert await here.missed.look()
    assert scans == []  # we were here
    here.start()
    here.passes(timedelta(hours=2))
    assert await here.missed.look()
    assert scans == [{"since": NOW + timedelta(hours=2) - missed.OVERLAP, "until": None}]
    assert await here.missed.look()
    assert len(scans) == 1
    here.log.add("old", ago=2 * DAY, code=202, answer=ours("ignored"))
    here.start()
    assert await here.missed.look()
    assert len(scans) == 1


async def test_a_log_that_is_refused(scene: Scene, scans: list[dict[str, Any]]) -> None:
    """After a start the threads are read up to now; while we are here it is only told, and read from there later."""
    here = Watched(scene)
    here.log.faults = [Forbidden("no")]
    assert await here.missed.look()
    assert (await here.reached(), scans) == (NOW, [])
    here.start()
    here.passes(timedelta(hours=2))
    here.log.faults = [Forbidden("no")]
    assert await here.missed.look()
    back = NOW + timedelta(hours=2)
    assert (await here.reached(), scans) == (back, [{"since": NOW - missed.OVERLAP, "until": None}])
    here.passes(timedelta(hours=1))
    here.log.faults = [Forbidden("no")]
    assert await here.missed.look()
    assert (await here.reached(), len(scans)) == (back, 1)
    here.passes(KEPT)
    here.log.faults = [Forbidden("no")]
    assert await here.missed.look()
    assert (await here.reached(), len(scans)) == (back + timedelta(hours=1) + KEPT, 2)


async def test_every_ten_minutes(scene: Scene, scans: list[dict[str, Any]]) -> None:
    """Sooner where a reading is not over, later where GitHub asks for it; a fault ends nothing."""
    here = Watched(scene, pages=1)
    here.log.size = 1
    here.log.add("g1", ago=timedelta(hours=2))
    here.log.add("g2", ago=timedelta(hours=1))
    here.log.faults = [Transient("limit", 1800, limited=True), Transient("502")]
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 5:
            raise asyncio.CancelledError
        here.passes(timedelta(seconds=seconds))

    scene.clock.sleep = sleep  # type: ignore[method-assign]
    with suppress(asyncio.CancelledError):
        await here.missed.run()
    assert waits == [1800, 60, 60, 600, 600]
    assert await here.guids() == ["g1", "g2"]


async def test_who_lost_the_duty_stops(scene: Scene, scans: list[dict[str, Any]]) -> None:
    """Another process reads on; nothing is waited for."""
    here = Watched(scene)
    here.log.faults = [Lost("the duty")]
    with pytest.raises(Lost):
        await here.missed.run()
