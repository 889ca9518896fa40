"""What GitHub allows, shared by all processes: known to each, and seldom written."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlmodel import select

from bot.model.allowance import EVERYTHING, Left
from bot.store import Store
from bot.store.allowances import BELIEVED, SharedAllowances
from bot.store.tables import Allowance
from tests import rows
from tests.rows import NOW

HOUR = timedelta(hours=1)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def left(remaining: int, resource: str = "core") -> Left:
    return Left(resource, 5000, remaining, NOW + HOUR)


async def found(store: Store, installation: int = 5, resource: str = "core") -> Allowance | None:
    """The row as it is on the disk."""
    return await store.read(lambda session: session.get(Allowance, (installation, resource)))


@pytest.fixture
async def pair(store: Store) -> tuple[SharedAllowances, SharedAllowances]:
    """Two processes, as far as one store can be two."""
    return SharedAllowances(store), SharedAllowances(store)


async def test_a_limit_is_known_to_every_process(store: Store, pair: tuple[SharedAllowances, SharedAllowances]) -> None:
    """At once, by the bell; for that installation and resource alone, and until it is over."""
    one, other = pair
    assert await other.until(5, "core", NOW) is None
    assert await one.limited(5, "core", 300.0, NOW, NOW) == 300
    assert await other.until(5, "core", after(1)) == after(300)
    assert await other.until(5, "graphql", after(1)) is None
    assert await other.until(6, "core", after(1)) is None
    assert await other.until(5, "core", after(300)) is None


async def test_a_secondary_limit_holds_for_every_resource(pair: tuple[SharedAllowances, SharedAllowances]) -> None:
    """It doubles over processes too, and what GitHub does afterwards ends it for all of them."""
    one, other = pair
    assert await one.limited(5, EVERYTHING, None, NOW, NOW) == 60
    assert await other.until(5, "graphql", NOW) == after(60)
    assert await other.limited(5, EVERYTHING, None, after(60), after(60)) == 120
    one.seen(5, None, after(100), after(100))  # it was sent before the limit ended
    await one.close()
    assert await one.until(5, "core", after(200)) is None
    other.seen(5, None, after(190), after(190))
    await other.close()
    assert await one.limited(5, EVERYTHING, None, after(200), after(200)) == 60


async def test_a_process_that_heard_no_bell_looks_again(store: Store) -> None:
    """What another machine wrote, after some seconds."""
    own = SharedAllowances(store)
    assert await own.until(5, "core", NOW) is None
    row = Allowance(installation_id=5, resource="core", ceiling=1, remaining=0, blocked_until=after(99), seen_at=NOW)
    await store.write(lambda session: session.add(row))
    assert await own.until(5, "core", after(1)) is None
    assert await own.until(5, "core", NOW + BELIEVED) == after(99)


async def test_an_answer_is_no_write(store: Store) -> None:
    """The first figures are kept, then each tenth that is used up, then that nothing is left."""
    own = SharedAllowances(store)
    before = store.commits
    for remaining in range(5000, 4499, -1):
        own.seen(5, left(remaining), NOW, NOW)
    await own.close()
    assert store.commits - before <= 2
    row = await found(store)
    assert row is not None
    assert (row.ceiling, row.remaining, row.reset_at, row.blocked_until) == (5000, 4999, NOW + HOUR, None)
    for remaining in range(4499, -1, -1):
        own.seen(5, left(remaining), NOW, NOW)
    await own.close()
    row = await found(store)
    assert row is not None
    assert (row.remaining, row.blocked_until) == (0, NOW + HOUR)
    assert await SharedAllowances(store).until(5, "core", NOW) == NOW + HOUR


async def test_the_process_that_used_the_last_of_it_knows_at_once(store: Store) -> None:
    """Before it is on the disk."""
    own = SharedAllowances(store)
    await own.until(5, "core", NOW)
    own.seen(5, left(0), NOW, NOW)
    assert await own.until(5, "core", after(1)) == NOW + HOUR
    await own.close()


async def test_a_limit_is_obeyed_though_the_disk_refuses(store: Store) -> None:
    """By the process that met it; what was known stays known."""
    own = SharedAllowances(store)
    await own.limited(5, "core", 30.0, NOW, NOW)
    async with rows.locked(store):
        assert await own.limited(6, EVERYTHING, None, NOW, NOW) == 60
        assert await own.until(6, "core", after(1)) == after(60)
        own.seen(6, left(4000), NOW, NOW)
        await own.close()
    assert await own.until(5, "core", after(1)) == after(30)


async def test_several_that_met_it_together_change_one_row(store: Store) -> None:
    """One strike, one ring."""
    own = SharedAllowances(store)
    waits = [await own.limited(5, EVERYTHING, None, NOW, after(number)) for number in range(8)]
    assert waits == [60 - number for number in range(8)]
    count = store.bell("allowance").count
    await own.limited(5, EVERYTHING, None, NOW, after(9))
    assert store.bell("allowance").count == count
    every = await store.read(lambda session: session.exec(select(Allowance)).all())
    assert [(row.resource, row.strikes) for row in every] == [(EVERYTHING, 1)]
