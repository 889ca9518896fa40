"""What was spent and asked in a time."""

from __future__ import annotations

from datetime import timedelta
from math import inf
from typing import Any

import pytest

from bot.store import Session, Store, spending
from bot.store.tables import Spend
from tests import rows

from .conftest import NOW


def spend(
    session: Session, cost: float | None, *, minutes: int = 0, repository: int = 1, thread: str = "t", actor: int = 5
) -> None:
    session.add(
        Spend(
            installation_id=1,
            repository_id=repository,
            thread_id=thread,
            actor_id=actor,
            run_id="r",
            model="m",
            cost=cost,
            at=NOW - timedelta(minutes=minutes),
        )
    )


@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        ({}, 31.0),
        ({"repository_id": 1}, 15.0),
        ({"repository_id": 2}, 16.0),
        ({"thread_id": "u"}, 2.0),
        ({"actor_id": 6}, 4.0),
        ({"repository_id": 1, "thread_id": "t", "actor_id": 5}, 9.0),
        ({"repository_id": 9}, 0.0),
    ],
)
async def test_dollars_of_whom_is_named(store: Store, narrowed: dict[str, Any], expected: float) -> None:
    """Since then, the moment itself included; an unknown price counts nothing."""

    def work(session: Session) -> None:
        spend(session, 1.0)
        spend(session, 2.0, thread="u")
        spend(session, 4.0, actor=6)
        spend(session, 8.0, minutes=60)
        spend(session, 16.0, repository=2)
        spend(session, 32.0, minutes=61)
        spend(session, None)

    await store.write(work)
    since = NOW - timedelta(minutes=60)
    assert await store.read(lambda s: spending.spent(s, since, **narrowed)) == expected


@pytest.mark.parametrize(("ceiling", "spent"), [(3.0, True), (2.9, True), (3.1, False), (0.0, True), (inf, False)])
async def test_a_day_is_spent_at_its_ceiling(store: Store, ceiling: float, spent: bool) -> None:
    """By all together, in 24 hours; what this very transaction spends counts."""

    def work(session: Session) -> bool:
        spend(session, 1.0)
        spend(session, 2.0, minutes=24 * 60, repository=2)
        spend(session, 4.0, minutes=24 * 60 + 1)
        return spending.day_is_spent(session, ceiling, NOW)

    assert await store.write(work) is spent


async def test_without_a_ceiling_nobody_adds_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "spent", lambda *_: pytest.fail("it was asked"))
    assert not await store.read(lambda session: spending.day_is_spent(session, inf, NOW))


async def test_requests_of_whom_is_named(store: Store) -> None:
    """Accepted ones, whatever became of them."""

    def work(session: Session) -> list[int]:
        for number, guid, minutes in ((1, "a", 0), (1, "b", 60), (2, "c", 0), (1, "d", 61)):
            rows.run(session, number, guid=guid, now=NOW - timedelta(minutes=minutes))
        first, since = rows.thread(session, 1).id, NOW - timedelta(minutes=60)
        return [
            spending.dispatched(session, since, repository_id=501),
            spending.dispatched(session, since, repository_id=501, thread_id=first),
            spending.dispatched(session, since, repository_id=501, actor_id=11),
            spending.dispatched(session, since, repository_id=501, actor_id=12),
            spending.dispatched(session, since, repository_id=502),
        ]

    assert await store.write(work) == [3, 2, 3, 0, 0]
