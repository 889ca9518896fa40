"""What goes after its time, what stays, and what a run under way keeps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select as rows_of
from sqlmodel import Session, SQLModel, col, func, select

from bot.engine.upkeep import Upkeep
from bot.model.ident import new_id
from bot.model.slot import Slot
from bot.model.state import DeliveryState, OutboxState, RunState
from bot.store import Store, deliveries, purging, snapshots, threads
from bot.store.kept import KEPT
from bot.store.kind import Goes
from bot.store.sweep import Sweeper
from bot.store.tables import (
    Attempt,
    Blob,
    CommentVersion,
    Creation,
    Delivery,
    Dispatch,
    Landmark,
    Outbox,
    Pin,
    Process,
    Reply,
    Run,
    Snapshot,
    Thread,
)
from tests import rows
from tests.rows import NOW
from tests.store import house
from tests.store.house import WORDS

DAY = timedelta(days=1)
LATER = NOW + 31 * DAY


class At:
    """A clock that stands, and in which nobody waits."""

    def __init__(self, now: datetime) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        return None


def upkeep(store: Store, now: datetime = LATER, days: int = 30) -> Upkeep:
    clock = At(now)
    return Upkeep(store, clock, days, Sweeper(store, clock))


async def retained(store: Store, now: datetime = LATER, days: int = 30) -> dict[str, int]:
    return await upkeep(store, now, days).retain()


def staying(session: Session) -> dict[str, list[tuple[Any, ...]]]:
    """Every value that stays, of the tables whose rows stay."""
    found = {}
    for name, table in SQLModel.metadata.tables.items():
        if name in ("landmark", "pin"):
            continue
        columns = [table.c[column] for column, kept in KEPT[name].items() if kept.goes is Goes.STAYS]
        columns = [column for column in columns if column.name != "purged_at"]
        if columns:
            query = rows_of(*columns).order_by(*table.primary_key)
            found[name] = [tuple(row) for row in session.connection().execute(query)]
    return found


async def test_after_their_time_texts_are_nowhere(store: Store) -> None:
    """In no column of no table; identities, states, times and costs are what they were."""

    def work(session: Session) -> None:
        house.run(session, "a")
        house.remember(session, house.comment(5))
        house.post(session, 1, Slot("thread/1", "command"), WORDS, NOW, purpose="command", posted_id=7001)

    await store.write(work)
    assert len(await store.read(house.words_in)) > 25
    before = await store.read(staying)
    assert await retained(store, NOW + 30 * DAY) == {}
    await retained(store)
    # the reason of a delivery goes with its row
    assert await store.read(house.words_in) == {"delivery.reason"}
    assert await store.read(staying) == before
    await retained(store, NOW + 91 * DAY)
    assert await store.read(house.words_in) == set()
    assert await store.read(lambda session: session.exec(select(Delivery)).all()) == []
    assert await store.read(lambda session: session.exec(select(func.count()).select_from(Blob)).one()) == 0
    assert await store.read(staying) == before


async def test_before_their_time_nothing_goes(store: Store) -> None:
    """To the second."""
    await store.write(lambda session: house.run(session, "a"))
    before = await store.read(house.words_in)
    assert await retained(store, NOW + 30 * DAY) == {}
    assert await store.read(house.words_in) == before


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.WAITING])
async def test_a_run_under_way_keeps_all_it_needs(store: Store, state: RunState) -> None:
    """Its rows, its request, its delivery for as long as it takes, the comments of its thread, its configuration."""

    def work(session: Session) -> None:
        house.run(session, "a", state=state)
        house.remember(session, house.comment(5))

    await store.write(work)
    before = await store.read(house.words_in)
    await retained(store, NOW + 400 * DAY)
    assert await store.read(house.words_in) == before
    assert await store.read(lambda session: deliveries.find(session, "a")) is not None


async def test_what_a_retry_under_way_repeats_is_kept(store: Store) -> None:
    """It ends, and then both go."""

    def work(session: Session) -> str:
        first = house.run(session, "a")
        second = house.run(session, "b", state=RunState.WAITING)
        session.get_one(Run, second).retry_of = first
        return second

    second = await store.write(work)
    assert "run" not in await retained(store)

    def end(session: Session) -> None:
        run = session.get_one(Run, second)
        run.state, run.ended_at = RunState.FAILED, NOW

    await store.write(end)
    assert (await retained(store))["run"] == 2


async def test_a_run_that_has_something_left_to_say_is_kept(store: Store) -> None:
    """However long GitHub does not take it."""

    def work(session: Session) -> None:
        run_id = house.run(session, "a")
        house.post(session, 1, Slot(f"run/{run_id}", "more"), WORDS, NOW, run_id=run_id, state=OutboxState.PENDING)

    await store.write(work)
    assert "run" not in await retained(store)
    assert "attempt.output" in await store.read(house.words_in)


async def test_a_delivery_that_nobody_looked_at_is_kept(store: Store) -> None:
    """It may be postponed, and is never lost."""
    await store.write(lambda session: deliveries.take(session, rows.delivery("a"), NOW))
    await retained(store, NOW + 400 * DAY)
    found = await store.read(lambda session: deliveries.find(session, "a"))
    assert found is not None
    assert found.body == b"{}"


async def test_a_delivery_that_began_nothing_goes_by_its_own_age(store: Store) -> None:
    """Its text after the days that are set, its row after ninety, or after the days if those are more."""

    def work(session: Session) -> None:
        deliveries.take(session, rows.delivery("a"), NOW)
        found = deliveries.find(session, "a")
        assert found is not None
        deliveries.settle(session, found.id, DeliveryState.IGNORED, "no mention")

    await store.write(work)
    assert await retained(store, NOW + 7 * DAY, days=6) == {"delivery": 1}
    assert await retained(store, NOW + 90 * DAY, days=6) == {}
    assert await retained(store, NOW + 91 * DAY, days=120) == {}
    assert await retained(store, NOW + 91 * DAY, days=6) == {"delivery": 1}


async def test_texts_of_comments_stay_while_something_is_asked_in_their_thread(store: Store) -> None:
    """What was replaced goes all the same; that a comment was deleted stays known."""
    old, new = house.comment(5, "old"), house.comment(5, "new", at=NOW + DAY)
    gone = house.comment(6, "gone")

    def work(session: Session) -> str:
        for one in (old, new, gone):
            house.remember(session, one)
        threads.forget(session, rows.thread(session).id, gone, NOW)
        return house.run(session, "a", at=NOW + 20 * DAY)

    await store.write(work)

    def texts(session: Session) -> list[str]:
        return sorted(session.exec(select(CommentVersion.body).where(col(CommentVersion.deleted_at).is_(None))))

    await retained(store, NOW + 40 * DAY)
    assert await store.read(texts) == ["new"]
    await retained(store, NOW + 60 * DAY)
    assert await store.read(texts) == []
    thread_id = (await store.read(lambda session: session.exec(select(Thread)).one())).id
    assert await store.read(lambda session: threads.is_deleted(session, thread_id, 6, "comment"))


async def test_the_list_of_pins_is_kept_as_long_as_there_are_any(store: Store) -> None:
    """So that it can be said again where somebody changes it."""

    def work(session: Session) -> None:
        thread = rows.thread(session)
        house.post(session, 1, Slot(f"thread/{thread.id}", "index"), WORDS, NOW, purpose="index")
        threads.pin(session, thread.id, 5, {}, by_id=11, by="ana", role="write", when=NOW)

    await store.write(work)
    await retained(store)
    assert "outbox.body" in await store.read(house.words_in)
    await store.write(lambda session: threads.unpin(session, rows.thread(session).id, 5))
    await retained(store)
    assert await store.read(house.words_in) == set()


async def test_what_is_purged_is_never_said_again(store: Store) -> None:
    """Somebody edits or deletes a comment of ours of long ago: an empty one would come of it."""
    from bot.store import outbox

    row_id = await store.write(lambda session: house.post(session, 1, Slot("x", "end"), WORDS, NOW, purpose="command"))
    await retained(store)

    def again(session: Session) -> OutboxState:
        row = session.get_one(Outbox, row_id)
        outbox.restate(session, row)
        outbox.deleted(session, row)
        return row.state

    assert await store.write(again) is OutboxState.POSTED


async def test_configurations_go_with_the_last_run_that_has_its_bytes(store: Store) -> None:
    """And come back where the same commit is read again."""

    def work(session: Session) -> None:
        house.run(session, "a")
        house.run(session, "b", at=NOW + 20 * DAY)

    await store.write(work)
    await retained(store, NOW + 40 * DAY)
    assert "snapshot.files" in await store.read(house.words_in)
    await retained(store, NOW + 60 * DAY)
    assert "snapshot.files" not in await store.read(house.words_in)
    await store.write(lambda session: snapshots.keep(session, 501, "c0ffee", {"a": "b"}, NOW))
    assert (await store.read(lambda session: session.exec(select(Snapshot)).one())).files == {"a": "b"}


async def test_bytes_that_are_shared_stay_with_whoever_has_them(store: Store) -> None:
    """Two runs printed the same."""

    def work(session: Session) -> None:
        for guid, at in (("a", NOW), ("b", NOW + 20 * DAY)):
            run_id = house.run(session, guid, at=at)
            attempt = session.exec(select(Attempt).where(Attempt.run_id == run_id)).one()
            attempt.streams = {"output": house.blob(session, "the same", at)}

    await store.write(work)
    digest = snapshots.digest_of(b"the same")
    await retained(store, NOW + 40 * DAY)
    assert await store.read(lambda session: session.get(Blob, digest)) is not None
    await retained(store, NOW + 60 * DAY)
    assert await store.read(lambda session: session.get(Blob, digest)) is None


async def test_what_counts_for_an_hour_and_dead_processes_go(store: Store) -> None:
    """A day later, as clocks may differ."""

    def work(session: Session) -> None:
        thread = rows.thread(session)
        session.add(Creation(installation_id=77, outbox_id="x", at=NOW))
        session.add(Reply(thread_id=thread.id, actor_id=11, at=NOW))
        session.add(Process(id=new_id(), host="here", kind="serve", started_at=NOW, beat_at=NOW))

    await store.write(work)
    assert await retained(store, NOW + DAY) == {}
    assert await retained(store, NOW + DAY + timedelta(seconds=1)) == {"creation": 1, "process": 1, "reply": 1}


async def test_a_removed_repository_is_forgotten_after_the_same_time(store: Store) -> None:
    """Not before, and not while a thread of it is there."""

    def work(session: Session) -> None:
        house.run(session, "a")
        thread = rows.thread(session)
        thread.gone, thread.gone_at = "repository_removed", NOW + DAY

    await store.write(work)
    assert await store.read(lambda session: len(session.exec(select(Thread)).all())) == 1
    keeping = upkeep(store, NOW + 31 * DAY)
    await keeping.retain()
    await keeping.look()
    assert await store.read(lambda session: len(session.exec(select(Thread)).all())) == 1
    keeping = upkeep(store, NOW + 32 * DAY)
    await keeping.retain()
    await keeping.look()
    for model in (Thread, Dispatch, Run, Outbox, Pin):
        assert await store.read(lambda session, model=model: session.exec(select(model)).all()) == []  # type: ignore[misc]  # mypy infers no type for a default


async def test_it_is_done_once_a_day(store: Store) -> None:
    """At the start, and when a day has passed."""
    keeping = upkeep(store, NOW)
    await keeping.look()
    noted = await store.read(lambda session: session.get(Landmark, "retention"))
    assert noted is not None
    assert noted.at == NOW
    await store.write(lambda session: house.run(session, "a", at=NOW - 40 * DAY))
    await upkeep(store, NOW + DAY - timedelta(seconds=1)).look()
    assert WORDS in str(await store.read(lambda session: session.exec(select(Dispatch.request)).all()))
    await upkeep(store, NOW + DAY).look()
    assert WORDS not in str(await store.read(lambda session: session.exec(select(Dispatch.request)).all()))


@pytest.mark.parametrize("stop", range(12))
async def test_a_process_that_ends_in_between_leaves_nothing_half_done(store: Store, stop: int) -> None:
    """Whichever write is its last: the next process goes on, also with runs that were marked and not through."""
    await store.write(lambda session: house.run(session, "a"))
    write: Callable[..., Any] = store.write
    count = 0

    async def ending(work: Callable[[Session], Any]) -> Any:
        nonlocal count
        count += 1
        if count > stop:
            raise ConnectionAbortedError
        return await write(work)

    store.write = ending  # type: ignore[method-assign]  # the process ends here
    with pytest.raises(ConnectionAbortedError):
        await retained(store)
    store.write = write  # type: ignore[method-assign]  # the next one begins
    await upkeep(store).look()
    assert await store.read(house.words_in) == {"delivery.reason"}
    assert await store.read(purging.marked) == []
