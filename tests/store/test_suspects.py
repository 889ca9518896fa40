"""Deliveries over which processes end: set aside once their thread knows, without a word where telling ends them."""

from __future__ import annotations

from sqlmodel import Session

from bot.model.state import DeliveryState
from bot.store import Store, deliveries, suspects
from tests.rows import NOW, delivery

REASON = "three ends"


async def left(store: Store, *, dies: bool = True) -> suspects.Left:
    """A process begins; it dies while it looks at the first of what it found."""

    def work(session: Session) -> suspects.Left:
        found = suspects.left(session, REASON)
        if dies and (first := [*(one.id for one in found.aside), *found.suspects][:1]):
            suspects.mark(session, first, "me")
        return found

    return await store.write(work)


async def test_what_is_to_be_set_aside_is_open_until_it_is_told(store: Store) -> None:
    """However often a process ends in between; it is looked at no more."""
    await store.write(lambda session: deliveries.take(session, delivery("a"), NOW))
    for _ in range(suspects.INTERRUPTIONS):
        assert len((await left(store)).suspects) == 1
    for _ in range(3):
        found = await left(store, dies=False)
        assert (found.suspects, [one.guid for one in found.aside]) == ((), ["a"])
        assert found.aside[0].state is DeliveryState.NEW


async def test_where_telling_ends_processes_too_it_is_settled_without_a_word(store: Store) -> None:
    """After some more."""
    await store.write(lambda session: deliveries.take(session, delivery("a"), NOW))
    for _ in range(suspects.SILENT):
        found = await left(store)
        assert [*found.aside, *found.suspects] != []
    assert (await left(store)).aside == ()
    row = await store.read(lambda session: deliveries.find(session, "a"))
    assert row is not None
    assert (row.state, row.reason) == (DeliveryState.FAILED, REASON)
