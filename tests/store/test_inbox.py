"""The inbox: deliveries that come together are kept together, and each is answered for itself."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest
from sqlmodel import func, select

from bot.errors import Transient
from bot.model.clock import SystemClock
from bot.model.delivery import NewDelivery
from bot.store import Session, Store
from bot.store.inbox import TOGETHER, StoreInbox
from bot.store.tables import Delivery
from tests.rows import delivery, locked


def count(session: Session) -> int:
    return session.exec(select(func.count()).select_from(Delivery)).one()


async def test_what_waits_is_kept_in_one_transaction(store: Store) -> None:
    """The first goes alone; all that come meanwhile go in the next."""
    inbox, before = StoreInbox(store, SystemClock()), store.commits
    answers = await asyncio.gather(*(inbox.take(delivery(f"g{number}")) for number in range(TOGETHER + 2)))
    assert set(answers) == {"accepted"}
    assert store.commits - before <= 3
    assert await store.read(count) == TOGETHER + 2


async def test_each_is_answered_for_itself(store: Store) -> None:
    """Known by GUID, known by content, twice in one transaction: one is accepted."""
    inbox = StoreInbox(store, SystemClock())
    assert await inbox.take(delivery("known", "content")) == "accepted"
    new = [delivery("first"), delivery("known"), delivery("other", "content"), delivery("twice"), delivery("twice")]
    assert await asyncio.gather(*map(inbox.take, new)) == [
        "accepted",
        "duplicate",
        "duplicate",
        "accepted",
        "duplicate",
    ]


async def test_the_bell_rings_for_what_is_new(store: Store) -> None:
    """Alone or among others that are known; for those nobody is woken."""
    inbox, bell = StoreInbox(store, SystemClock()), store.bell("delivery")
    for new, rings in [(["a"], True), (["a", "a"], False), (["a", "b"], True), (["b"], False)]:
        before = bell.count
        await asyncio.gather(*(inbox.take(delivery(guid)) for guid in new))
        assert (bell.count > before) == rings


async def test_it_is_on_disk_before_it_is_answered(store: Store) -> None:
    """Nobody is answered while the commit is under way."""
    seen: list[tuple[str, bool]] = []
    inbox = StoreInbox(store, SystemClock())
    taking = asyncio.create_task(inbox.take(delivery("g")))
    store.failpoint = lambda when, _name: seen.append((when, taking.done()))
    assert await taking == "accepted"
    assert seen == [("before", False), ("after", False)]


async def test_one_that_cannot_be_kept_takes_no_other_along(store: Store) -> None:
    """The statement that holds it fails; those with it are kept without it."""
    inbox = StoreInbox(store, SystemClock())
    broken: NewDelivery = replace(delivery("broken"), headers={"x-github-hook-id": object()})  # type: ignore[dict-item]
    good = asyncio.gather(inbox.take(delivery("first")), inbox.take(delivery("second")))
    with pytest.raises(Exception, match="JSON"):
        await inbox.take(broken)
    assert list(await good) == ["accepted", "accepted"]
    assert await inbox.take(delivery("third")) == "accepted"
    assert await store.read(count) == 3


async def test_a_disk_that_refuses_is_heard_by_all(store: Store) -> None:
    """Nothing was accepted, and the next is taken once it goes again."""
    inbox = StoreInbox(store, SystemClock())
    async with locked(store):
        answers = await asyncio.gather(*(inbox.take(delivery(f"g{n}")) for n in range(3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [Transient] * 3
    while True:  # a server may take a moment to let go of what nobody holds
        with suppress(Transient):
            assert await inbox.take(delivery("g0")) == "accepted"
            return


async def test_who_goes_away_is_served_all_the_same(store: Store) -> None:
    """A caller that is cancelled has handed its delivery over."""
    inbox = StoreInbox(store, SystemClock())
    gone = asyncio.create_task(inbox.take(delivery("gone")))
    await asyncio.sleep(0)
    gone.cancel()
    assert await inbox.take(delivery("next")) == "accepted"
    assert await store.read(count) == 2


@pytest.mark.parametrize("begun", [False, True])
async def test_nobody_waits_for_what_was_cancelled(store: Store, begun: bool) -> None:
    """Before its first line or in the middle: whoever waits hears of it, and the next is kept."""
    inbox = StoreInbox(store, SystemClock())
    taking = asyncio.create_task(inbox.take(delivery("gone")))
    await asyncio.sleep(0)
    (keeping,) = (task for task in asyncio.all_tasks() if task.get_name() == "inbox")
    if begun:
        await asyncio.sleep(0)
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(taking, 5)
    assert await asyncio.wait_for(inbox.take(delivery("next")), 5) == "accepted"
    assert await store.read(count) == 1 + begun
