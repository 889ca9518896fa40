"""A database that refuses is told once, and once that it no longer does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from bot.errors import Transient
from bot.store import deliveries, open_store
from tests.databases import on_both
from tests.rows import NOW, delivery, locked

pytestmark = on_both


@contextmanager
def told() -> Iterator[list[tuple[str, str]]]:
    """What the log has been told of reads and writes, in order."""
    lines: list[tuple[str, str]] = []
    with capture_logs() as logged:
        yield lines
    lines += [(str(line["event"]), str(line["what"])) for line in logged if str(line["event"]).startswith("store_")]


async def test_writes_that_are_refused_are_told_once(database: str) -> None:
    """By whomever; that readings go on changes nothing."""
    store = open_store(database)
    with told() as lines:
        async with locked(store):
            for guid in "abc":
                with pytest.raises(Transient):
                    await store.write(lambda s, guid=guid: deliveries.take(s, delivery(guid), NOW))  # type: ignore[misc]
                await store.read(deliveries.next_due)
        for guid in "de":
            await store.write(lambda s, guid=guid: deliveries.take(s, delivery(guid), NOW))  # type: ignore[misc]
    assert lines == [("store_refuses", "writes"), ("store_answers", "writes")]
    await store.close()


async def test_readings_that_are_refused_are_told_once(database: str) -> None:
    """As many as there are at once; who may not write while reading is refused."""
    store = open_store(database)

    async def refused() -> None:
        with pytest.raises(Transient):
            await store.read(lambda s: deliveries.take(s, delivery("a"), NOW))

    with told() as lines:
        await asyncio.gather(*(refused() for _ in range(6)))
        await store.write(lambda s: deliveries.take(s, delivery("b"), NOW))
        for _ in range(2):
            await store.read(deliveries.next_due)
    assert lines == [("store_refuses", "reads"), ("store_answers", "reads")]
    await store.close()
