"""At rest is when nothing is left to be looked at, run or said; and whose run said a comment."""

from __future__ import annotations

from bot.model.ident import digest
from bot.model.slot import Slot
from bot.model.state import DeliveryState, RunState, follow
from bot.store import Session, Store, deliveries, outbox, runs, spoken
from bot.store.rest import unfinished
from bot.store.tables import Run
from tests import rows
from tests.sending import claim_next

from .conftest import NOW


async def test_every_sort_of_work_keeps_it_from_rest(store: Store) -> None:
    """A delivery, a run and a thing to say, each until it is done."""
    run_id = await store.write(lambda session: rows.run(session, guid="a").id)
    assert await store.read(unfinished) == 2

    def look(session: Session) -> None:
        found = deliveries.find(session, "a")
        assert found is not None
        deliveries.settle(session, found.id, DeliveryState.PLANNED)

    await store.write(look)
    assert await store.read(unfinished) == 1
    await store.write(lambda session: runs.claim(session, "me", NOW))
    assert await store.read(unfinished) == 1

    def finish(session: Session) -> None:
        run = session.get_one(Run, run_id)
        run.state = follow(run.state, RunState.SUCCEEDED)
        session.add(run)

    await store.write(finish)
    assert await store.read(unfinished) == 0
    await say(store, run_id)
    assert await store.read(unfinished) == 1
    said = await store.write(lambda session: claim_next(session, "me", NOW))
    assert said is not None
    assert await store.read(unfinished) == 1
    await store.write(lambda session: outbox.posted(session, said.row.id, 5, "url", NOW, digest("hello")))
    assert await store.read(unfinished) == 0


async def test_the_run_of_a_comment(store: Store) -> None:
    """By GitHub's id; a reaction with the same number is none, nor is what nobody said."""
    run_id = await store.write(lambda session: rows.run(session, guid="a").id)
    for purpose, action, number in (("reaction-eyes", "reaction", 5), ("result", "comment", 6)):
        await post(store, await say(store, run_id, purpose, action), number)
    assert await store.read(lambda session: spoken.run_of(session, 6)) == run_id
    assert await store.read(lambda session: spoken.run_of(session, 5)) is None
    assert await store.read(lambda session: spoken.run_of(session, 7)) is None


async def post(store: Store, row_id: str, number: int) -> None:
    """It stands on GitHub under this number."""
    await store.write(lambda session: claim_next(session, "me", NOW))
    await store.write(lambda session: outbox.posted(session, row_id, number, "url", NOW, digest("hello")))


async def say(store: Store, run_id: str, purpose: str = "result", action: str = "comment") -> str:
    """Something that the run has to say; the row's id."""

    def work(session: Session) -> str:
        return outbox.ensure(
            session,
            Slot(f"run/{run_id}", purpose),
            thread_id=rows.thread(session).id,
            run_id=run_id,
            action=action,
            purpose="reaction" if action == "reaction" else purpose,
            body="hello",
            now=NOW,
        ).id

    return await store.write(work)
