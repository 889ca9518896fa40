"""Both identities of a delivery."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy.exc import NoResultFound

from bot.errors import IllegalTransition
from bot.model.state import DeliveryState
from bot.store import Store, deliveries, prepared
from tests.rows import delivery

from .conftest import NOW


async def test_the_same_guid_is_a_duplicate_whatever_its_content(store: Store) -> None:
    """(app, GUID) is the first identity."""
    assert await store.write(lambda s: deliveries.take(s, delivery("g", "one"), NOW)) == "accepted"
    assert await store.write(lambda s: deliveries.take(s, delivery("g", "two"), NOW)) == "duplicate"


async def test_the_same_content_under_a_new_guid_is_a_duplicate(store: Store) -> None:
    """The signature covers only the body, so the body is an identity too."""
    assert await store.write(lambda s: deliveries.take(s, delivery("g", "one"), NOW)) == "accepted"
    assert await store.write(lambda s: deliveries.take(s, delivery("h", "one"), NOW)) == "duplicate"


async def test_fifty_at_once_are_accepted_once(store: Store) -> None:
    """Exactly one of 50 equal deliveries is new."""
    answers = await asyncio.gather(*(store.write(lambda s: deliveries.take(s, delivery("g"), NOW)) for _ in range(50)))
    assert sorted(answers) == ["accepted"] + ["duplicate"] * 49


async def test_a_postponed_delivery_is_not_due_before_its_time(store: Store) -> None:
    """It holds up nobody meanwhile, and is found when due."""
    await store.write(lambda s: deliveries.take(s, delivery("late"), NOW))
    row = await store.read(lambda s: deliveries.find(s, "late"))
    assert row is not None
    later = NOW + timedelta(minutes=1)
    await store.write(lambda s: deliveries.postpone(s, row.id, later, NOW, "busy"))
    await store.write(lambda s: deliveries.take(s, delivery("next"), NOW))
    assert [d.guid for d in await store.read(lambda s: deliveries.open_batch(s, NOW))] == ["next"]
    assert {d.guid for d in await store.read(lambda s: deliveries.open_batch(s, later))} == {"late", "next"}
    assert await store.read(lambda s: deliveries.next_due(s, NOW)) == later
    assert await store.read(lambda s: deliveries.next_due(s, later)) is None


async def test_only_what_led_to_nothing_can_be_replayed(store: Store) -> None:
    """A planned delivery stays planned: replaying it would say things twice."""
    await store.write(lambda s: deliveries.take(s, delivery("g"), NOW))
    row = await store.read(lambda s: deliveries.find(s, "g"))
    assert row is not None
    await store.write(lambda s: deliveries.settle(s, row.id, DeliveryState.IGNORED, "no mention"))
    await store.write(lambda s: deliveries.replay(s, row.id))
    assert [d.guid for d in await store.read(lambda s: deliveries.open_batch(s, NOW))] == ["g"]
    await store.write(lambda s: deliveries.settle(s, row.id, DeliveryState.PLANNED))
    with pytest.raises(IllegalTransition):
        await store.write(lambda s: deliveries.replay(s, row.id))


async def test_what_was_forgotten_meanwhile_is_not_settled(store: Store) -> None:
    """A repository was forgotten while one of its deliveries was looked at: that says what is missing."""
    with pytest.raises(NoResultFound, match="there is no delivery gone"):
        await store.write(lambda s: deliveries.settle(s, "gone", DeliveryState.IGNORED))


async def test_a_look_leaves_out_what_is_under_way(store: Store) -> None:
    """However much of it there is, the oldest of the others are found."""
    for number in range(6):
        await store.write(partial(deliveries.take, new=delivery(f"g{number}"), now=NOW))
    every = await store.read(lambda s: deliveries.open_batch(s, NOW))
    busy = {row.id for row in every[:3]}
    assert [d.guid for d in await store.read(lambda s: deliveries.open_batch(s, NOW, 2, busy=busy))] == ["g3", "g4"]
    assert await store.read(lambda s: deliveries.open_batch(s, NOW, busy={row.id for row in every})) == []


async def test_of_a_long_backlog_no_more_is_read_than_a_batch_needs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as it takes, and as are under way: else each batch would read all that wait behind it."""
    await store.write(lambda s: deliveries.take_all(s, [delivery(f"g{number}") for number in range(40)], NOW))
    first = await store.read(lambda s: deliveries.open_batch(s, NOW, 3))
    fetched, sizes = prepared._fetched, list[int]()

    def counted(driver: Any, text: str, bound: Any) -> Any:
        described, rows = fetched(driver, text, bound)
        rows = list(rows)
        sizes.append(len(rows))
        return described, rows

    monkeypatch.setattr(prepared, "_fetched", counted)
    found = await store.read(lambda s: deliveries.open_batch(s, NOW, 5, busy={row.id for row in first}))
    assert [row.guid for row in found] == ["g3", "g4", "g5", "g6", "g7"]
    assert sizes == [8]
