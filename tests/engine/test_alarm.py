"""The alarm tells what is stuck once, and that it moves again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.engine.alarm import Alarm
from bot.model.state import DeliveryState
from bot.store import Session, Store, deliveries
from tests import rows
from tests.rows import NOW
from tests.store.test_retention import At


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, dict[str, Any]]]:
    """What the log is told: level, event, values."""
    found: list[tuple[str, str, dict[str, Any]]] = []

    class Log:
        def __getattr__(self, level: str) -> Any:
            return lambda event, **values: found.append((level, event, values))

    monkeypatch.setattr("bot.engine.alarm._log", Log())
    return found


async def test_what_is_stuck_is_told_once(store: Store, told: list[Any]) -> None:
    """Again where something new is stuck, and once more when all of it moves."""
    clock = At(NOW)
    alarm = Alarm(store, clock, 4)
    await store.write(lambda session: deliveries.take(session, rows.delivery("a"), NOW))
    assert await alarm.look() == {}
    clock.time = NOW + timedelta(minutes=6)
    for _ in range(2):
        await alarm.look()
    assert [(level, event, values["kind"], values["count"]) for level, event, values in told] == [
        ("warning", "stuck", "delivery", 1)
    ]
    await store.write(lambda session: deliveries.take(session, rows.delivery("b"), NOW))
    await alarm.look()
    assert told[-1][2]["count"] == 2

    def settle(session: Session) -> None:
        for guid in ("a", "b"):
            found = deliveries.find(session, guid)
            assert found is not None
            deliveries.settle(session, found.id, DeliveryState.PLANNED)

    await store.write(settle)
    assert await alarm.look() == {}
    assert told[-1][:2] == ("info", "moves_again")
