"""Processes beside each other: who has a duty does it, who stands by takes over, and nobody does what he has lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from datetime import timedelta

import pytest
from sqlmodel import col, update
from structlog.testing import capture_logs

from bot.errors import Lost, Transient
from bot.queue import Presence, presence
from bot.store import Session, Store, open_store, processes
from bot.store.tables import Duty, Process
from tests.databases import on_both


@pytest.fixture
async def stores(database: str) -> AsyncIterator[tuple[Store, Store]]:
    """Two processes' views of one database."""
    one, two = open_store(database), open_store(database)
    yield one, two
    await one.close()
    await two.close()


async def until(holds: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.005)


class Member:
    """A process with one duty, at which it notes that it is."""

    def __init__(self, store: Store, *, alone: bool = False) -> None:
        self.presence = Presence(store, kind="worker", wanted=("intake",), alone=alone)
        self.duty = self.presence.duty("intake")
        self.at_it = 0
        self.begun = 0
        self.work: Callable[[], object] = lambda: None

    async def does(self) -> None:
        self.at_it, self.begun = self.at_it + 1, self.begun + 1
        try:
            while True:
                self.work()
                await asyncio.sleep(0.005)
        finally:
            self.at_it -= 1


async def started(stack: AsyncExitStack, member: Member) -> asyncio.Task[None]:
    """It joins, beats and follows its duty until the stack is left."""
    await member.presence.join()
    beats = asyncio.create_task(member.presence.run())
    follows = asyncio.create_task(member.duty.follow(member.does))

    async def end() -> None:
        for task in (beats, follows):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    stack.push_async_callback(end)
    return beats


@on_both
async def test_one_does_it_and_the_other_stands_by(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the first leaves: then the second has it, at once where bells ring across, else at its next beat."""
    monkeypatch.setattr(presence, "BEAT", 0.05)
    first, second = (Member(store) for store in stores)
    async with AsyncExitStack() as stack:
        beats = await started(stack, first)
        await started(stack, second)
        await until(lambda: first.at_it)
        assert (second.duty.held, second.at_it) == (False, 0)
        assert await stores[1].read(processes.living) == {first.presence.id, second.presence.id}
        beats.cancel()
        await first.presence.leave()
        await until(lambda: second.at_it)
        await until(lambda: not first.at_it)
        assert await stores[1].read(processes.living) == {second.presence.id}


async def test_leaving_rings_so_that_nobody_waits_for_a_beat(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A beat would come much later."""
    monkeypatch.setattr(presence, "BEAT", 3_600)
    first, second = Member(store), Member(store)
    async with AsyncExitStack() as stack:
        beats = await started(stack, first)
        await started(stack, second)
        beats.cancel()
        await first.presence.leave()
        await until(lambda: second.at_it)


async def test_who_cannot_say_that_it_leaves_leaves_all_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others notice its silence; the log says why nobody was told."""
    member = Member(store)
    await member.presence.join()
    assert member.duty.held

    async def refuses(_work: Callable[..., object]) -> object:
        raise Transient("the database refuses: no connection")

    monkeypatch.setattr(store, "write", refuses)
    with capture_logs() as logged:
        await member.presence.leave()
    reasons = [line["reason"] for line in logged if line["event"] == "left_unsaid"]
    assert reasons == ["the database refuses: no connection"]
    assert not member.duty.held


@on_both
async def test_a_duty_that_has_moved_is_left(stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that slept learns it at its next beat: what it does is cancelled, and begins again when it may."""
    monkeypatch.setattr(presence, "BEAT", 0.05)
    member = Member(stores[0])

    def another(session: Session) -> None:
        processes.beat(session, "another", host="h", kind="worker")
        session.execute(update(Duty).values(owner="another"))

    async with AsyncExitStack() as stack:
        await started(stack, member)
        await until(lambda: member.at_it)
        await stores[1].write(another)
        await until(lambda: not member.at_it)
        with pytest.raises(Lost):
            await member.duty.store.write(lambda _: None)
        await stores[1].write(lambda s: processes.leave(s, "another"))
        await until(lambda: member.at_it)
        await member.duty.store.write(lambda _: None)
    assert member.begun == 2


async def test_a_refused_write_ends_the_work_before_any_beat(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it surfaces from a group of tasks; a fault of another kind is no loss."""
    monkeypatch.setattr(presence, "BEAT", 3_600)
    member = Member(store)
    errors: list[Exception] = [Lost("it"), ExceptionGroup("both", [Lost("it"), Lost("that")])]

    def fails() -> None:
        if errors:
            raise errors.pop(0)

    member.work = fails
    async with AsyncExitStack() as stack:
        await started(stack, member)
        for left in (1, 0):
            await until(lambda left=left: len(errors) == left and not member.duty.held)  # type: ignore[misc]  # mypy cannot infer the lambda's default
            member.duty.note(held=True)
        await until(lambda: member.at_it)
    broken = Member(store)
    broken.duty.note(held=True)

    async def breaks() -> None:
        raise ExceptionGroup("both", [Lost("it"), ValueError("a bug")])

    with pytest.raises(ExceptionGroup, match="both"):
        await broken.duty.follow(breaks)


async def test_a_loop_that_ends_by_itself_is_not_begun_again(store: Store) -> None:
    """Whoever watches the loops is told."""
    member = Member(store)
    member.duty.note(held=True)

    async def ends() -> None:
        member.begun += 1

    await member.duty.follow(ends)
    assert member.begun == 1


@on_both
async def test_it_goes_on_beating(stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """While the database refuses too, for a while."""
    monkeypatch.setattr(presence, "BEAT", 0.02)
    monkeypatch.setattr(presence, "PAUSE", 0.02)
    member = Member(stores[0])
    refusals = 3
    write = stores[0].write

    async def refuses(work: Callable[..., object]) -> object:
        nonlocal refusals
        if refusals:
            refusals -= 1
            raise Transient("the disk is full")
        return await write(work)

    async with AsyncExitStack() as stack:
        await started(stack, member)
        monkeypatch.setattr(stores[0], "write", refuses)
        await until(lambda: refusals == 0)
        long_ago = timedelta(minutes=1)
        await stores[1].write(lambda s: s.execute(update(Process).values(beat_at=processes.now(s) - long_ago)))

        async def lives() -> bool:
            return member.presence.id in await stores[1].read(processes.living)

        async with asyncio.timeout(20):
            while not await lives():
                await asyncio.sleep(0.01)


async def test_one_that_is_alone_has_everything_and_need_not_beat(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock on its database says that nobody else is there, whatever the rows of an earlier process say."""
    monkeypatch.setattr(presence, "BEAT", 0.01)
    earlier = Member(store)
    await earlier.presence.join()
    member = Member(store, alone=True)
    async with AsyncExitStack() as stack:
        await started(stack, member)
        await until(lambda: member.at_it)
        commits = store.commits
        await asyncio.sleep(0.1)
        assert store.commits == commits
        await store.write(member.presence.show)
        await member.duty.store.write(lambda _: None)
        with pytest.raises(Lost):
            await earlier.duty.store.write(lambda _: None)


async def test_showing_up_counts_as_a_sign_of_life(store: Store) -> None:
    """Whoever takes something within a transaction lives, though it slept until now."""
    member = Member(store)
    await member.presence.join()
    old = timedelta(minutes=1)
    await store.write(
        lambda s: s.execute(
            update(Process).where(col(Process.id) == member.presence.id).values(beat_at=processes.now(s) - old)
        )
    )
    assert await store.read(processes.living) == set()
    await store.write(member.presence.show)
    assert await store.read(processes.living) == {member.presence.id}
