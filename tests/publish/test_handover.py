"""Sending that stops, sleeps, or is another process's by now: each call counts once, whoever made it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlmodel import select

from bot.errors import Lost, NotFound, Transient, Unsure
from bot.model.state import OutboxState
from bot.publish.performer import Act, Found, Made, Performer
from bot.publish.sender import LOOKS, Sender
from bot.publish.sending import STALE
from bot.store import Session, doubt, open_store, outbox, processes
from bot.store.fence import FencedStore
from bot.store.tables import Outbox
from tests.sending import claim_next

from .world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A real SQLite file; what is done is done by `Post`."""
    path = tmp_path / "bot.db"
    store = open_store(f"sqlite:///{path}")
    made = World(store, path)
    yield made
    await made.github.aclose()
    await store.close()


class Post:
    """A call that goes on until it is let go, and then ends as it is told."""

    def __init__(self) -> None:
        self.met, self.let_go, self.calls = asyncio.Event(), asyncio.Event(), 0
        self.error: Exception | None = None

    async def do(self, act: Act) -> Made:
        self.calls += 1
        self.met.set()
        await self.let_go.wait()
        if self.error is not None:
            raise self.error
        return Made({"id": 7}, 7, "https://github.test/7")

    def sender(self, world: World, *, allowed: bool = True) -> Sender:
        duty = FencedStore(world.store, lambda _: allowed, "the duty `outbox`")
        nothing = Performer(self.do, find=_nothing)
        return Sender(world.store, {"comment": nothing}, world.clock, owner="me", duty=duty)


async def _nothing(act: Act, since: datetime) -> list[Found]:
    return []


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_stop_lets_what_is_under_way_end(world: World) -> None:
    """It is recorded; nothing else is begun."""
    row_id, post = await world.say("run/1"), Post()
    task = asyncio.create_task(post.sender(world).run())
    await asyncio.wait_for(post.met.wait(), 10)
    stopping = asyncio.create_task(stopped(task))
    await asyncio.sleep(0)
    later = await world.say("run/2", thread=2)
    assert not stopping.done()
    post.let_go.set()
    await asyncio.wait_for(stopping, 10)
    assert [await world.state(one) for one in (row_id, later)] == [OutboxState.POSTED, OutboxState.PENDING]
    assert post.calls == 1


async def test_what_hangs_at_a_stop_is_looked_for_by_who_comes_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have arrived."""
    monkeypatch.setattr("bot.publish.sender.FINISH", 0.05)
    row_id, post = await world.say("run/1"), Post()
    task = asyncio.create_task(post.sender(world).run())
    await asyncio.wait_for(post.met.wait(), 10)
    await asyncio.wait_for(stopped(task), 10)
    row = await world.row(row_id)
    assert (row.state, row.reason) == (OutboxState.UNSURE, "the process that sent it stopped")
    assert row.not_before == world.clock.now() + timedelta(seconds=LOOKS[0])


async def test_who_has_not_the_duty_sends_nothing(world: World) -> None:
    """It is refused in the very transaction that claims."""
    row_id, post = await world.say("run/1"), Post()
    with pytest.raises(Lost, match="outbox"):
        await post.sender(world, allowed=False).run()
    assert (await world.state(row_id), post.calls) == (OutboxState.PENDING, 0)


async def test_only_what_the_dead_were_sending_is_unsure(world: World) -> None:
    """A living process may be about to hear the answer."""
    for number, owner in ((1, "living"), (2, "dead")):
        await world.say(f"run/{number}", thread=number)
        await world.store.write(lambda s, owner=owner: claim_next(s, owner, world.clock.now()))  # type: ignore[misc]  # mypy cannot infer the lambda's default
    await world.store.write(lambda s: processes.beat(s, "living", host="h", kind="worker"))
    await Post().sender(world).recover()

    def states(session: Session) -> dict[str, OutboxState]:
        return {row.slot.partition("|")[0]: row.state for row in session.exec(select(Outbox))}

    assert await world.store.read(states) == {"run/1": OutboxState.SENDING, "run/2": OutboxState.UNSURE}


async def taken_over(world: World, row_id: str) -> None:
    """Another process took this one for dead, did not find the comment, and sends it now."""

    def work(session: Session) -> None:
        doubt.unsure(session, row_id, world.clock.now(), "the process that sent it ended")
        outbox.postpone(session, row_id, None, "it was not there")
        assert claim_next(session, "another", world.clock.now()) is not None

    await world.store.write(work)


async def test_what_was_claimed_long_ago_is_asked_about_before_it_is_sent(world: World) -> None:
    """A process that slept between the claim and the call: the row is another's by now, and the call is not made."""
    row_id, post = await world.say("run/1"), Post()
    sender = post.sender(world)
    (claimed,) = await world.store.write(partial(sender._claim, most=8))
    world.clock.advance(STALE + 1)
    await taken_over(world, row_id)
    await sender._sending.send(claimed)
    assert post.calls == 0
    # one that is still ours is sent, however long it took
    other = await world.say("run/2", thread=2)
    (claimed,) = await world.store.write(partial(sender._claim, most=8))
    world.clock.advance(STALE + 1)
    post.let_go.set()
    await sender._sending.send(claimed)
    assert (await world.state(other), post.calls) == (OutboxState.POSTED, 1)


@pytest.mark.parametrize("error", [Transient("busy"), Unsure("no answer"), NotFound("gone"), None])
async def test_what_a_sleeper_learns_does_not_touch_a_row_of_another(world: World, error: Exception | None) -> None:
    """It neither frees the row nor drops it; only that it was posted is true whoever says so."""
    row_id, post = await world.say("run/1"), Post()
    sender = post.sender(world)
    (claimed,) = await world.store.write(partial(sender._claim, most=8))
    sent = asyncio.create_task(sender._sending.send(claimed))
    await asyncio.wait_for(post.met.wait(), 10)
    await taken_over(world, row_id)
    post.error = error
    post.let_go.set()
    await sent
    row = await world.row(row_id)
    assert row.lease_owner == "another"
    assert row.state is (OutboxState.SENDING if error is not None else OutboxState.POSTED)
    assert row.posted_id == (None if error is not None else 7)
