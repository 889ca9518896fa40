"""What one work does is undone alone, and what the others of its commit did is given up to the commit."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import event

from bot.store import Session, Store
from tests import rows


async def test_each_work_of_a_commit_has_a_savepoint_of_its_own(store: Store) -> None:
    told: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "SAVEPOINT" in statement:
            told.append(statement)

    def works(session: Session) -> None:
        rows.thread(session, 1)

    def breaks(session: Session) -> None:
        rows.thread(session, 2)
        raise KeyError("it breaks")

    engine = await store.write(lambda session: session.connection().engine)
    event.listen(engine, "before_cursor_execute", note)
    try:
        async with rows.held(store):
            both = [asyncio.ensure_future(store.write(work)) for work in (works, breaks)]
            await asyncio.sleep(0)
        await both[0]
        with pytest.raises(KeyError):
            await both[1]
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert [(one.rpartition(" ")[0], one[-1]) for one in told] == [
        ("SAVEPOINT", told[0][-1]),
        ("RELEASE SAVEPOINT", told[0][-1]),
        ("SAVEPOINT", told[2][-1]),
        ("ROLLBACK TO SAVEPOINT", told[2][-1]),
    ]
    assert told[0] != told[2]
