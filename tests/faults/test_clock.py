"""A clock that is five minutes off, or is set while the bot works: nothing hangs on it, and nothing is done twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlmodel import select

from bot.app import Bot, open_bot
from bot.demo.deliveries import Deliverer
from bot.demo.records import App
from bot.demo.server import LookAlikeServer
from bot.demo.world import World
from bot.dispatch.occasion import Postponed
from bot.dispatch.triggers import hold
from bot.engine.roles import KEPT, Roles
from bot.model.clock import SystemClock
from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.state import RunState
from bot.publish.marker import strip
from bot.serving import attach
from bot.store import Session, Store, deliveries, doubt, open_store, outbox, runs
from bot.store.due import LONGEST
from bot.store.rest import unfinished
from bot.store.tables import Attempt, Delivery
from tests import rows
from tests.github.fake import FakeClock, FakeGitHub, answer, make_github
from tests.restarts import until
from tests.rows import ANA, NOW, REPOSITORY
from tests.sending import claim_next
from tests.stage import make_settings, make_world

FIVE = timedelta(minutes=5)


class Adrift(SystemClock):
    """The machine's clock, and how far it is off."""

    def __init__(self, off: timedelta = timedelta(0)) -> None:
        self.off = off

    def now(self) -> datetime:
        return super().now() + self.off


@dataclass
class Scene:
    """A bot with such a clock."""

    bot: Bot
    world: World
    app: App
    deliverer: Deliverer
    clock: Adrift
    gate: Path

    async def says(self, text: str) -> None:
        self.world.comment("acme/widgets", 1, "ana", text)
        await self.deliverer.settle()

    def said(self) -> list[str]:
        return [strip(c.body) for c in self.world.comments("acme/widgets", 1) if c.author is self.app.bot]

    async def rests(self) -> None:
        """Within seconds, though the clock went by minutes."""
        async with asyncio.timeout(90):
            while True:
                await self.deliverer.settle()
                if await self.bot.store.read(unfinished) == 0:
                    return
                await asyncio.sleep(0.01)

    async def attempts(self) -> list[tuple[str, int, str]]:
        def work(session: Session) -> list[tuple[str, int, str]]:
            return [(one.step, one.number, str(one.state)) for one in session.exec(select(Attempt))]

        return sorted(await self.bot.store.read(work))


@asynccontextmanager
async def scene(tmp_path: Path, off: timedelta = timedelta(0)) -> AsyncIterator[Scene]:
    gate, clock = tmp_path / "go", Adrift(off)
    command = f"until [ -e {gate} ]; do sleep 0.02; done; echo done"
    file = f"""\
version: 1
workflows:
  go:
    steps:
      - {{id: work, run: '{command}', workspace: none, timeout: 60s}}
      - {{id: ok, ask: "Go on?", timeout: 1h}}
      - {{id: end_it, run: 'echo well', workspace: none}}
"""
    world, _, app, _ = make_world(tmp_path / "github", {".github/bot.yml": file})
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(LookAlikeServer(world))
        settings = make_settings(world, app, tmp_path / "data", sandbox="off")
        bot = await stack.enter_async_context(
            open_bot(settings, clock=clock, look_at=(0.05, 0.1, 0.2), environ={}, debounce=timedelta())
        )
        front = FastAPI()
        attach(front, bot)
        deliverer = Deliverer(world, "http://bot.test/webhook", transport=httpx.ASGITransport(front))
        await stack.enter_async_context(deliverer)
        await deliverer.settle()
        yield Scene(bot, world, app, deliverer, clock, gate)


@pytest.mark.parametrize("off", [FIVE, -FIVE], ids=["ahead", "behind"])
async def test_five_minutes_off(tmp_path: Path, off: timedelta) -> None:
    """GitHub takes no token that is signed for the wrong time; its `Date` says the right one."""
    async with scene(tmp_path, off) as play:
        play.gate.touch()
        await play.says("@bot go")
        await play.rests()
        await play.says("@bot approve r1.ok")
        await play.rests()
        assert await play.attempts() == [("end_it", 1, "success"), ("ok", 1, "success"), ("work", 1, "success")]
        assert sum("well" in text for text in play.said()) == 1


@pytest.mark.parametrize("by", [FIVE, -FIVE], ids=["set ahead", "set back"])
async def test_set_while_it_works(tmp_path: Path, by: timedelta) -> None:
    """During a step, between a comment and the answer to it, and while a question is open: each is done once."""
    async with scene(tmp_path) as play:
        await play.says("@bot go")

        async def works() -> bool:
            return await play.attempts() == [("work", 1, "running")]

        while not await works():
            await asyncio.sleep(0.01)
        play.clock.off += by
        lost = play.world.faults.lose_reply("POST", r".*/issues/1/comments")
        play.gate.touch()
        await until(lambda: lost.met.is_set())
        await play.rests()
        play.clock.off += by
        await play.says("@bot approve r1.ok")
        await play.rests()
        assert await play.attempts() == [("end_it", 1, "success"), ("ok", 1, "success"), ("work", 1, "success")]
        assert sum("well" in text for text in play.said()) == 1
        assert sum("Go on?" in text for text in play.said()) == 1


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'bot.db'}")
    yield opened
    await opened.close()


@pytest.mark.parametrize(("ahead", "comes"), [(LONGEST, False), (LONGEST + timedelta(seconds=1), True)])
async def test_what_a_clock_from_next_year_put_off(store: Store, ahead: timedelta, comes: bool) -> None:
    """It was set back since: nobody waits for next year. Nothing is ever put off for so long by a right one."""

    def work(session: Session) -> list[bool]:
        run = rows.run(session, guid="a")
        run.not_before = NOW + ahead
        thread = rows.thread(session)
        row = session.get_one(Delivery, _id(session, "a"))
        row.not_before = NOW + ahead
        slot, sure = (Slot("run/1", name) for name in ("one", "two"))
        for each in (slot, sure):
            outbox.ensure(session, each, thread_id=thread.id, action="comment", purpose="command", body="x", now=NOW)
        claim_next(session, "me", NOW)
        first = outbox.find(session, slot)
        assert first is not None
        doubt.unsure(session, first.id, NOW + ahead, "no answer")
        outbox.ensure(
            session, sure, thread_id=thread.id, action="comment", purpose="command", body="y", now=NOW,
            not_before=NOW + ahead,
        )  # fmt: skip
        session.flush()
        return [
            bool(deliveries.open_batch(session, NOW)),
            runs.claim(session, "me", NOW) == run.id,
            bool(doubt.due_unsure(session, NOW)),
            claim_next(session, "me", NOW) is not None,
        ]

    assert await store.write(work) == [comes] * 4


def _id(session: Session, guid: str) -> str:
    found = deliveries.find(session, guid)
    assert found is not None
    return found.id


async def test_a_waiting_run_waits_as_long_as_people_were_given(store: Store) -> None:
    """A question may be open for a month."""

    def work(session: Session) -> RunState:
        run = rows.run(session, guid="a")
        assert runs.claim(session, "me", NOW) == run.id
        runs.wait(session, run, NOW, NOW + timedelta(days=30))
        assert runs.claim(session, "me", NOW) is None
        return run.state

    assert await store.write(work) is RunState.WAITING


async def test_what_was_learned_in_the_future_is_asked_again() -> None:
    """A role that was kept before the clock was set back is not kept for longer than any other."""
    server = FakeGitHub(FakeClock(NOW))
    roles = Roles(server.clock)
    path = "/repos/acme/widgets/collaborators/ana/permission"
    server.on("GET", path, answer({"role_name": "write"}), answer({"role_name": "read"}))
    client = make_github(server).repository(5, REPOSITORY)
    assert await roles.of(client, ANA) is Role.WRITE
    server.clock.advance(-KEPT.total_seconds())
    assert await roles.of(client, ANA) is Role.READ


@pytest.mark.parametrize(("ago", "held"), [(0, True), (4, True), (5, False), (-60, False)])
async def test_a_push_is_held_for_its_time(ago: float, held: bool) -> None:
    """And not at all where it seems to come from the future."""
    parts: Any = SimpleNamespace(clock=FakeClock(NOW), debounce=timedelta(seconds=5))
    pushed: Any = SimpleNamespace(received_at=NOW - timedelta(seconds=ago))
    with pytest.raises(Postponed) if held else nullcontext():
        hold(parts, pushed)
