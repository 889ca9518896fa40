"""How far something has come."""

from __future__ import annotations

from datetime import timedelta

from bot.store import Store, landmarks
from tests.store.conftest import NOW


async def test_a_landmark_only_goes_on(store: Store) -> None:
    """Unknown at first; two that have the same name are one; it never goes back."""
    assert await store.read(lambda session: landmarks.reached(session, "deliveries")) is None
    for at in (NOW, NOW + timedelta(hours=1), NOW - timedelta(hours=1)):
        await store.write(lambda session, at=at: landmarks.reach(session, "deliveries", at))  # type: ignore[misc]
    assert await store.read(lambda session: landmarks.reached(session, "deliveries")) == NOW + timedelta(hours=1)
    assert await store.read(lambda session: landmarks.reached(session, "other")) is None
