"""How much there is of everything, and how long the oldest waits."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlmodel import select

from bot.model.slot import Slot
from bot.model.state import AttemptState, DeliveryState, OutboxState, RunState
from bot.store import Session, Store, deliveries, migrate, outbox, runs
from bot.store.figures import Figures, blocked, figures, oldest_delivery, oldest_run, unheld
from bot.store.tables import Allowance, Attempt, Delivery, Duty, Gate, Outbox, Process, Run
from tests import rows
from tests.rows import NOW


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


async def of(store: Store, seconds: float = 0) -> Figures:
    """The figures so long after `NOW`, by every clock."""
    return await store.read(lambda session: figures(session, after(seconds), after(seconds)))


async def test_an_empty_database(store: Store) -> None:
    """Nothing, which is no error."""
    found = await of(store)
    assert (found.deliveries, found.runs, found.posts, found.allowances) == ({}, {}, {}, ())
    assert found.ages == {"delivery": 0, "run": 0, "post": 0}


async def test_counts(store: Store) -> None:
    """By state, deliveries by origin too, and what was dropped by its reason."""

    def work(session: Session) -> None:
        run = rows.run(session, guid="a")
        deliveries.take(session, rows.delivery("b"), NOW)
        scanned = deliveries.find(session, "b")
        assert scanned is not None
        scanned.origin = "scan"
        session.add(scanned)
        for name, state, reason in (("x", OutboxState.DROPPED, "locked"), ("y", OutboxState.PENDING, "")):
            row = outbox.ensure(
                session, Slot("x", name), thread_id=run.thread_id, action="label", purpose="action", body=name, now=NOW
            )
            row.state, row.reason = state, reason
            session.add(row)

    await store.write(work)
    found = await of(store)
    assert found.deliveries == {("new", "scan"): 1, ("new", "webhook"): 1}
    assert (found.dispatches, found.runs) == ({"queued": 1}, {"queued": 1})
    assert (found.posts, found.dropped) == ({"pending": 1}, {"locked": 1})


async def test_the_oldest_delivery(store: Store) -> None:
    """From its arrival; one that was put off from when it is due, and not before that."""
    await store.write(lambda session: deliveries.take(session, rows.delivery("a"), NOW))
    assert (await of(store, 30)).ages["delivery"] == 30
    key = await store.read(lambda session: session.exec(select(Delivery.id)).one())
    await store.write(lambda session: deliveries.postpone(session, key, after(100), None, ""))
    assert (await of(store, 30)).ages["delivery"] == 0
    assert (await of(store, 130)).ages["delivery"] == 30
    assert await store.read(lambda session: oldest_delivery(session, after(130))) == (key, after(100))
    await store.write(lambda session: deliveries.settle(session, key, DeliveryState.PLANNED))
    assert (await of(store, 500)).ages["delivery"] == 0


async def test_the_oldest_run_whose_turn_it_is(store: Store) -> None:
    """Not one behind another of its thread, nor one that was put off; its turn began when the one before it ended."""
    first = await store.write(lambda session: rows.run(session, guid="a").id)
    second = await store.write(lambda session: rows.run(session, guid="b").id)
    assert await store.read(lambda session: oldest_run(session, after(20))) == (first, NOW)

    def ends(session: Session) -> None:
        row = session.get_one(Run, first)
        row.state, row.ended_at = RunState.SUCCEEDED, after(50)
        session.add(row)

    await store.write(ends)
    assert await store.read(lambda session: oldest_run(session, after(60))) == (second, after(50))
    assert (await of(store, 60)).ages["run"] == 10

    def put_off(session: Session) -> None:
        row = session.get_one(Run, second)
        row.not_before = after(100)
        session.add(row)

    await store.write(put_off)
    assert (await of(store, 60)).ages["run"] == 0
    assert (await of(store, 160)).ages["run"] == 60


async def test_a_run_that_goes_on_waits_from_its_answer(store: Store) -> None:
    """Not from when it was queued, days ago."""

    def work(session: Session) -> None:
        run = rows.run(session, guid="a")
        frame = runs.rows(session, run.id).root.id
        attempt = Attempt(
            run_id=run.id, frame_id=frame, step="s", kind="ask", number=1, state=AttemptState.WAITING, started_at=NOW
        )
        session.add(attempt)
        session.flush()
        answer = {"answer": "approve", "at": after(1000).isoformat()}
        session.add(Gate(attempt_id=attempt.id, run_id=run.id, question="?", digest="d", answer=answer))
        run.front = 1
        session.add(run)

    await store.write(work)
    assert (await of(store, 1010)).ages["run"] == 10


async def test_the_oldest_post(store: Store) -> None:
    """One that was put off from when it is due; an edit says nothing of when it was wished for."""

    def work(session: Session) -> str:
        thread = rows.thread(session)
        return outbox.ensure(
            session, Slot("x", "y"), thread_id=thread.id, action="comment", purpose="command", body="x", now=NOW
        ).id

    key = await store.write(work)
    assert (await of(store, 20)).ages["post"] == 20

    def change(session: Session, **values: object) -> None:
        row = session.get_one(Outbox, key)
        for name, value in values.items():
            setattr(row, name, value)
        session.add(row)

    await store.write(lambda session: change(session, not_before=after(30)))
    assert [(await of(store, seconds)).ages["post"] for seconds in (20, 35)] == [0, 5]
    await store.write(lambda session: change(session, not_before=None, posted_id=7))
    assert (await of(store, 20)).ages["post"] == 0


async def test_processes_and_duties(store: Store) -> None:
    """Who has not beaten for eight seconds is dead, and what it held is held by nobody."""

    def work(session: Session) -> None:
        for name, beat in (("a", 0), ("b", -9)):
            session.add(Process(id=name, host="h", kind="serve", started_at=NOW, beat_at=after(beat)))
        session.add(Duty(name="intake", owner="a"))
        session.add(Duty(name="outbox", owner="b"))

    await store.write(work)
    found = await of(store)
    assert (found.processes, found.duties) == ({"serve": 1}, {"intake": True, "outbox": False})
    free = await store.read(lambda session: unheld(session, ["intake", "outbox", "other"], NOW))
    assert free == {"outbox", "other"}


async def test_who_may_not_ask_now(store: Store) -> None:
    """Each installation once, with its longest limit."""

    def work(session: Session) -> None:
        for key, resource, seconds in ((5, "core", 10), (5, "graphql", 20), (6, "core", -1)):
            session.add(
                Allowance(
                    installation_id=key, resource=resource, ceiling=1, remaining=0, seen_at=NOW,
                    blocked_until=after(seconds),
                )
            )  # fmt: skip

    await store.write(work)
    assert await store.read(lambda session: blocked(session, NOW)) == {5: after(20)}


async def test_the_schema(store: Store) -> None:
    """What the tables say of themselves."""
    assert await store.read(migrate.revision) == migrate.HEAD
