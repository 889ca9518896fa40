"""A day of more than GitHub takes: all of it is said, none of it early, in order, and nobody sleeps."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlmodel import func, select

from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.publish.pace import Pace
from bot.publish.sender import Sender
from bot.store import Session, Store, open_store, outbox
from bot.store.tables import Outbox
from tests.databases import DATABASES, on_both
from tests.github.fake import START, FakeClock, answer

from .thread_server import ThreadServer
from .world import World, where

pytestmark = on_both


HOUR = 3_600.0
SECONDARY = "You have exceeded a secondary rate limit"


class Counting(ThreadServer):
    """Counts what is created as GitHub does, per installation, and refuses what is too much."""

    def __init__(self, clock: FakeClock, minute: int = 80, hour: int = 500) -> None:
        super().__init__(clock)
        self.bounds = ((60.0, minute), (HOUR, hour))
        self.created: dict[str, list[float]] = {}
        self.said: list[tuple[float, str]] = []
        self.refused = 0

    async def _mint(self, request: httpx.Request) -> httpx.Response:
        """Any installation; its number is the token's beginning."""
        installation = request.url.path.split("/")[3]
        token = f"{installation}_{len(self.valid)}"
        self.valid.add(token)
        ends = self.clock.now() + self.token_life
        return answer({"token": token, "expires_at": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}, 201)

    def do(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST" and request.url.path.endswith("/comments"):
            now = self.clock.now().timestamp()
            made = self.created.setdefault(request.headers["authorization"].split()[1].split("_")[0], [])
            if any(sum(at > now - seconds for at in made[-most:]) >= most for seconds, most in self.bounds):
                self.refused += 1
                return answer({"message": SECONDARY}, 403)
            made.append(now)
            self.said.append((now, json.loads(request.content)["body"].split("\n")[0]))
        return super().do(request)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A real SQLite file and a real client over a transport that counts."""
    store = open_store(DATABASES.of_folder(tmp_path))
    made = World(store, tmp_path / "bot.db", server_of=Counting)
    yield made
    await made.github.aclose()
    await store.close()


async def arrive(world: World, count: int, first: int = 0, *, purpose: str = "result", installation: int = 5) -> None:
    """So many things to say, over twenty threads; results have their dispatch's sequence."""

    def work(session: Session) -> None:
        for number in range(first, first + count):
            thread = where(session, number % 20 + 1 + 100 * (installation - 5), installation)
            reaction = purpose == "reaction"
            outbox.ensure(
                session,
                Slot(f"run/{installation}-{number}", purpose),
                thread_id=thread.id,
                action="reaction" if reaction else "comment",
                purpose=purpose,
                body="eyes" if reaction else f"{purpose} {number}",
                now=world.clock.now(),
                sequence=number + 1 if purpose == "result" else 0,
            )

    await world.store.write(work)


async def until(world: World, sender: Sender, seconds: float) -> None:
    """Wake the sender whenever it wants to be woken, until that time of the day."""
    end = START + timedelta(seconds=seconds)
    while True:
        at = await sender.sweep()
        if at is None or at > end:
            world.clock.advance((end - world.clock.now()).total_seconds())
            return
        world.clock.advance(max(0.001, (at - world.clock.now()).total_seconds()))


async def left(store: Store) -> int:
    """How many are not posted."""
    return await store.read(
        lambda session: session.exec(select(func.count()).where(Outbox.state != OutboxState.POSTED)).one()
    )


async def test_a_day_of_three_times_the_hourly_limit(world: World) -> None:
    """1,500 comments: most of them in one hour, the rest in bursts; a restart comes when an hour is full."""
    server = world.server
    assert isinstance(server, Counting)
    sender = world.sender()
    await arrive(world, 150, purpose="status")
    await arrive(world, 100, purpose="gate")
    await arrive(world, 40, purpose="reaction")
    await arrive(world, 650)
    await until(world, sender, 1_000)
    assert len(server.said) == 500

    # the next process knows; what another installation has to say leaves at once, and so does a reaction
    sender = world.sender("next")
    await sender.recover()
    await until(world, sender, 1_500)
    assert len(server.said) == 500
    assert sum(map(len, server.reactions.values())) == 20
    await arrive(world, 5, 5_000, installation=6)
    await sender.sweep()
    assert [text for _, text in server.said[500:]] == [f"result {number}" for number in range(5_000, 5_005)]
    assert await left(world.store) == 400

    for hour, count in ((5, 450), (6, 100), (23, 50)):
        await until(world, sender, hour * HOUR)
        await arrive(world, count, hour * 1_000)
    await until(world, sender, 24 * HOUR)

    assert await left(world.store) == 0
    assert server.refused == 0
    assert len(server.said) == 1_505
    assert world.clock.slept == []
    # results before gates before status; eight calls are under way at once
    first = [text.split()[0] for _, text in server.said[:905] if not text.startswith("result 500")]
    assert first == sorted(first, key=("result", "gate", "status").index)
    # each thread's results in the order of their dispatches
    for thread in range(1, 21):
        numbers = [int(text.split()[1]) for text in server.texts(thread) if text.startswith("result")]
        assert numbers == sorted(numbers)


async def test_eighty_one_in_a_minute(world: World) -> None:
    """The last one waits for the minute to be over, however fast the bucket is filled."""
    server = world.server
    assert isinstance(server, Counting)
    sender = world.sender(pace=Pace(burst=1_000))
    await arrive(world, 81)
    await sender.sweep()
    assert (len(server.said), server.refused) == (80, 0)
    assert await sender.sweep() == START + timedelta(seconds=60)
    await world.at(sender, 59.9)
    assert len(server.said) == 80
    await world.at(sender, 60)
    assert (len(server.said), server.refused) == (81, 0)


async def test_edits_create_nothing(world: World) -> None:
    """A comment that is there may change while nothing new may be said."""
    server = world.server
    assert isinstance(server, Counting)
    sender = world.sender(pace=Pace(burst=1_000))
    await world.say("thread/1", "one pin", purpose="index", thread=50)
    await sender.sweep()
    await arrive(world, 100)
    await sender.sweep()
    assert len(server.said) == 80
    await world.say("thread/1", "two pins", purpose="index", thread=50)
    await sender.sweep()
    assert server.texts(50) == ["two pins\r"]
    await world.at(sender, 60)
    assert (len(server.said), server.refused) == (101, 0)
