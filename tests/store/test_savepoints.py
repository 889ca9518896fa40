"""What one work does is undone alone, and what the others of its commit did is given up to the commit."""

from __future__ import annotations

import asyncio

import pytest

from bot.store import Session, Store
from tests import rows
from tests.store.statements import statements


async def test_each_work_of_a_commit_has_a_savepoint_of_its_own(store: Store) -> None:
    def works(session: Session) -> None:
        rows.thread(session, 1)

    def breaks(session: Session) -> None:
        rows.thread(session, 2)
        raise KeyError("it breaks")

    engine = await store.write(lambda session: session.connection().engine)
    with statements(engine) as sent:
        async with rows.held(store):
            both = [asyncio.ensure_future(store.write(work)) for work in (works, breaks)]
            await asyncio.sleep(0)
        await both[0]
        with pytest.raises(KeyError):
            await both[1]
    told = [one for one in sent if "SAVEPOINT" in one]
    assert [(one.rpartition(" ")[0], one[-1]) for one in told] == [
        ("SAVEPOINT", told[0][-1]),
        ("RELEASE SAVEPOINT", told[0][-1]),
        ("SAVEPOINT", told[2][-1]),
        ("ROLLBACK TO SAVEPOINT", told[2][-1]),
    ]
    assert told[0] != told[2]
