"""What should have moved: each kind where it is stuck, and nothing where it waits rightly."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from bot.model.slot import Slot
from bot.model.state import AttemptState, DeliveryState, GateState, OutboxState, RunState
from bot.store import Session, Store, deliveries, meters, outbox, runs
from bot.store.stuck import HOURLY, WORDS, Stuck, stuck, told
from bot.store.tables import Attempt, Creation, Gate, Landmark, Outbox, Process, Run, Thread
from tests import rows
from tests.rows import NOW

MINUTE = timedelta(minutes=1)


def late(minutes: int) -> timedelta:
    return timedelta(minutes=minutes, seconds=1)


async def of(store: Store, minutes: int, places: int | None = None) -> Mapping[str, Stuck]:
    """What is stuck that long after `NOW`."""
    return await store.read(lambda session: stuck(session, NOW + late(minutes), places=places))


def settled(session: Session, guid: str) -> None:
    found = deliveries.find(session, guid)
    assert found is not None
    deliveries.settle(session, found.id, DeliveryState.PLANNED)


def queued(session: Session, guid: str, number: int = 1) -> str:
    """A run whose delivery is settled."""
    made = rows.run(session, number, guid=guid)
    settled(session, guid)
    return made.id


def post(session: Session, name: str = "end") -> Outbox:
    thread = rows.thread(session)
    return outbox.ensure(
        session, Slot("x", name), thread_id=thread.id, action="comment", purpose="command", body="hi", now=NOW
    )


def _living() -> Process:
    """A process that beats for a day."""
    return Process(id="me", host="h", kind="serve", started_at=NOW, beat_at=NOW + timedelta(days=1))


def _claim(session: Session, now: datetime) -> str | None:
    """A run of a process that lives."""
    session.add(_living())
    return runs.claim(session, "me", now)


async def test_an_empty_database_has_nothing_stuck(store: Store) -> None:
    """Neither at once nor later."""
    assert await of(store, 1000) == {}


async def test_a_delivery_is_stuck_when_it_is_due_for_long(store: Store) -> None:
    """Counted from when it is to be looked at again; its id is told."""
    await store.write(lambda session: deliveries.take(session, rows.delivery("a"), NOW))
    found = await store.read(lambda session: deliveries.find(session, "a"))
    assert found is not None
    assert await of(store, 4) == {}
    assert await of(store, 5) == {"delivery": Stuck(1, NOW, (found.id,))}
    await store.write(lambda session: deliveries.postpone(session, found.id, NOW + 9 * MINUTE, NOW, "later"))
    assert await of(store, 13) == {}
    assert (await of(store, 14))["delivery"].oldest == NOW + 9 * MINUTE
    await store.write(lambda session: settled(session, "a"))
    assert await of(store, 14) == {}


async def test_a_run_is_stuck_when_it_is_its_turn(store: Store) -> None:
    """Not behind another of its thread, nor while every place is taken."""
    first = await store.write(lambda session: queued(session, "a"))
    await store.write(lambda session: queued(session, "b"))
    other = await store.write(lambda session: queued(session, "c", 2))
    assert await of(store, 4) == {}
    found = (await of(store, 5))["run_queued"]
    assert (found.count, set(found.ids)) == (2, {first, other})
    await store.write(lambda session: _claim(session, NOW + 5 * MINUTE))
    assert (await of(store, 6))["run_queued"].ids == (other,)
    assert (await of(store, 6, places=2))["run_queued"].ids == (other,)
    assert await of(store, 6, places=1) == {}


async def test_a_run_that_goes_on_is_counted_from_what_let_it(store: Store) -> None:
    """It may have been queued for the first time days ago."""

    def work(session: Session) -> None:
        run = session.get_one(Run, queued(session, "a"))
        run.front = 1
        frame = runs.rows(session, run.id).root
        session.add(run)
        attempt = Attempt(
            run_id=run.id, frame_id=frame.id, step="ok", kind="ask", number=1, started_at=NOW,
            state=AttemptState.WAITING,
        )  # fmt: skip
        session.add(attempt)
        session.flush()
        answer = {"answer": "yes", "at": (NOW + 60 * MINUTE).isoformat()}
        session.add(
            Gate(
                attempt_id=attempt.id, run_id=run.id, question="?", digest="d", state=GateState.ANSWERED, answer=answer
            )
        )

    await store.write(work)
    assert await of(store, 64) == {}
    assert (await of(store, 65))["run_queued"].oldest == NOW + 60 * MINUTE


async def test_a_run_that_nobody_holds_is_stuck(store: Store) -> None:
    """Its process is dead, and nobody took it over for a minute."""

    def work(session: Session) -> str:
        queued(session, "a")
        run_id = runs.claim(session, "one", NOW)
        assert run_id is not None
        session.add(Process(id="one", host="h", kind="serve", started_at=NOW, beat_at=NOW + 3 * MINUTE))
        return run_id

    run_id = await store.write(work)
    assert await of(store, 2) == {}
    await store.write(lambda session: session.delete(session.get_one(Process, "one")))
    assert await of(store, 2) == {"run_running": Stuck(1, NOW, (run_id,))}


async def test_a_post_is_stuck_where_nothing_leaves(store: Store) -> None:
    """Where others of the installation leave, or GitHub's limits hold it back, it is not."""
    row_id = await store.write(lambda session: post(session).id)
    assert await of(store, 9) == {}
    assert await of(store, 10) == {"post_pending": Stuck(1, NOW, (row_id,))}

    def blocked(session: Session) -> None:
        shows = meters.level(session, 77, tokens=1.0, now=NOW)
        shows.blocked_until = NOW + 20 * MINUTE
        meters.keep(session, 77, shows)

    await store.write(blocked)
    assert await of(store, 10) == {}
    assert "post_pending" in await of(store, 20)

    def sent(session: Session) -> None:
        other = post(session, "other")
        other.state, other.sent_at, other.posted_at = OutboxState.POSTED, NOW + 25 * MINUTE, NOW + 25 * MINUTE
        session.add(other)

    await store.write(sent)
    assert await of(store, 30) == {}
    assert "post_pending" in await of(store, 36)

    def full(session: Session) -> None:
        session.add_all(Creation(installation_id=77, outbox_id="x", at=NOW + 30 * MINUTE) for _ in range(HOURLY))

    await store.write(full)
    assert await of(store, 69) == {}
    assert "post_pending" in await of(store, 70)


async def test_an_edit_counts_from_when_it_was_put_off(store: Store) -> None:
    """Its row is as old as what stands there."""

    def work(session: Session) -> None:
        row = post(session)
        row.posted_id = 5
        session.add(row)

    await store.write(work)
    assert await of(store, 60) == {}

    def put_off(session: Session) -> None:
        session.get_one(Thread, rows.thread(session).id)
        row = outbox.find(session, Slot("x", "end"))
        assert row is not None
        row.not_before = NOW + 30 * MINUTE
        session.add(row)

    await store.write(put_off)
    assert await of(store, 39) == {}
    assert (await of(store, 40))["post_pending"].oldest == NOW + 30 * MINUTE


async def test_a_post_that_stays_unsure_is_stuck(store: Store) -> None:
    """Ten minutes after it was sent."""

    def work(session: Session) -> None:
        row = post(session)
        row.state, row.sent_at, row.not_before = OutboxState.UNSURE, NOW + MINUTE, NOW + 30 * MINUTE
        session.add(row)

    await store.write(work)
    assert await of(store, 10) == {}
    assert (await of(store, 11))["post_unsure"].oldest == NOW + MINUTE


@pytest.mark.parametrize(("state", "there"), [(RunState.WAITING, True), (RunState.RUNNING, False)])
async def test_a_gate_is_stuck_when_its_run_waits_beyond_it(store: Store, state: RunState, there: bool) -> None:
    """A run that is at work looks at it itself."""

    def work(session: Session) -> None:
        run = session.get_one(Run, queued(session, "a"))
        run.state, run.lease_owner = state, "me"
        session.add(_living())
        frame = runs.rows(session, run.id).root
        attempt = Attempt(
            run_id=run.id, frame_id=frame.id, step="ok", kind="ask", number=1, started_at=NOW,
            state=AttemptState.WAITING,
        )  # fmt: skip
        session.add_all([run, attempt])
        session.flush()
        session.add(Gate(attempt_id=attempt.id, run_id=run.id, question="?", digest="d", deadline=NOW))

    await store.write(work)
    assert await of(store, 4) == {}
    assert ("gate" in await of(store, 5)) is there


async def test_an_unread_log_is_told(store: Store) -> None:
    """Once it has ever been read."""

    def work(session: Session) -> None:
        session.add(Landmark(name="deliveries", at=NOW))

    await store.write(work)
    assert await of(store, 29) == {}
    assert "log_unread" in await of(store, 30)


async def test_it_is_told_in_words(store: Store) -> None:
    """How many, what, since when, which."""
    await store.write(lambda session: deliveries.take(session, rows.delivery("a"), NOW))
    found = (await of(store, 7))["delivery"]
    words = told("delivery", found, NOW + late(7))
    assert words == f"1 {WORDS['delivery']}; the oldest 7 min, {found.ids[0]}"
