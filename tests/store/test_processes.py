"""Who lives is said by the database's clock, and by nothing else."""

from __future__ import annotations

from datetime import timedelta

from sqlmodel import col, select, update

from bot.store import Session, Store, duties, processes
from bot.store.processes import DEAD_AFTER, FORGET_WRITERS_AFTER
from bot.store.tables import Duty, Landmark, Process
from bot.store.tables.cluster import WRITERS


def beat(session: Session, name: str = "a") -> None:
    processes.beat(session, name, host="here", kind="worker")


def aged(session: Session, name: str, by: timedelta) -> None:
    """As if its last sign of life were so old."""
    session.execute(update(Process).where(col(Process.id) == name).values(beat_at=processes.now(session) - by))


async def test_the_database_has_one_clock_that_goes_on(store: Store) -> None:
    """Aware of its zone, and later in every transaction, though a PostgreSQL transaction's own `now()` stands."""
    first = await store.read(processes.now)
    second = await store.write(lambda s: (processes.now(s), processes.now(s)))
    assert first.utcoffset() == timedelta()
    assert first <= second[0] <= second[1]


async def test_a_process_lives_as_long_as_it_beats(store: Store) -> None:
    """Beating again brings it back; its start stays."""
    await store.write(beat)
    assert await store.read(processes.living) == {"a"}
    await store.write(lambda s: aged(s, "a", DEAD_AFTER + timedelta(milliseconds=100)))
    assert await store.read(processes.living) == set()
    before = await store.read(lambda s: s.get_one(Process, "a").started_at)
    await store.write(beat)
    assert await store.read(processes.living) == {"a"}
    assert await store.read(lambda s: s.get_one(Process, "a").started_at) == before


async def test_who_was_silent_himself_takes_nobody_for_dead(store: Store) -> None:
    """The database was away for all: whoever comes back first leaves the others the time to do so, too."""
    for name in ("a", "b", "dead"):
        await store.write(lambda s, name=name: beat(s, name))  # type: ignore[misc]  # mypy cannot infer the lambda's default
    silence = DEAD_AFTER + timedelta(seconds=6)
    for name, by in (("a", silence), ("b", silence + timedelta(seconds=2)), ("dead", silence + 2 * DEAD_AFTER)):
        await store.write(lambda s, name=name, by=by: aged(s, name, by))  # type: ignore[misc]  # as above
    assert await store.read(lambda s: processes.living(s, "a")) == {"a", "b", "dead"}
    await store.write(lambda s: beat(s, "a"))
    assert await store.read(lambda s: processes.living(s, "a")) == {"a", "b"}
    await store.write(lambda s: aged(s, "b", DEAD_AFTER + timedelta(seconds=1)))
    assert await store.read(lambda s: processes.living(s, "a")) == {"a"}


async def test_a_short_silence_is_no_death(store: Store) -> None:
    """Nearly the whole time may pass."""
    await store.write(beat)
    await store.write(lambda s: aged(s, "a", DEAD_AFTER - timedelta(seconds=2)))
    assert await store.read(processes.living) == {"a"}


async def test_last_transactions_of_stores_that_are_gone_are_forgotten(store: Store) -> None:
    """By whoever begins; no other landmark is."""

    def work(session: Session) -> None:
        for name, age in (("gone", FORGET_WRITERS_AFTER + timedelta(minutes=1)), ("here", timedelta(hours=1))):
            session.add(Landmark(name=f"{WRITERS}{name}", at=processes.now(session) - age))
        session.add(Landmark(name="deliveries", at=processes.now(session) - 2 * FORGET_WRITERS_AFTER))

    await store.write(work)
    await store.write(beat)
    found = await store.read(lambda s: set(s.exec(select(Landmark.name))))
    assert {f"{WRITERS}here", "deliveries"} <= found
    assert f"{WRITERS}gone" not in found


async def test_whoever_leaves_gives_back_its_duties_and_rings(store: Store) -> None:
    """Others find them free at once."""
    await store.write(beat)
    await store.write(lambda s: duties.keep(s, "a", ("intake", "outbox")))
    bell = store.bell("duty")
    await store.write(lambda s: processes.leave(s, "a"))
    assert bell.count == 1
    assert await store.read(processes.living) == set()
    assert await store.write(lambda s: duties.keep(s, "b", ("intake",))) == {"intake"}


async def test_alone_means_that_nobody_else_is_there(store: Store) -> None:
    """What others held is free, what is one's own stays."""
    await store.write(lambda s: beat(s, "a"))
    await store.write(lambda s: duties.keep(s, "a", ("intake",)))
    await store.write(lambda s: beat(s, "b"))
    await store.write(lambda s: duties.keep(s, "b", ("outbox",)))
    await store.write(lambda s: processes.alone(s, "b"))
    assert await store.read(processes.living) == {"b"}
    assert await store.read(lambda s: [(d.name, d.owner) for d in s.exec(select(Duty))]) == [("outbox", "b")]
