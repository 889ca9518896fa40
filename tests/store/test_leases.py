"""Runs are held by processes that live; what the dead held is taken over, and what that says about each run."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import col, select, update

from bot.model.ident import new_id
from bot.model.state import AttemptState, RunState
from bot.store import Session, Store, leases, processes, runs
from bot.store.tables import Attempt, Outbox, Process, Run, Value
from tests import rows
from tests.rows import NOW


async def claimed(store: Store, owner: str, *numbers: int) -> list[str]:
    """Runs on those threads, held by `owner`, each with a step under way."""

    def work(session: Session) -> list[str]:
        held = []
        for number in numbers:
            rows.run(session, number, guid=f"g{number}")
            run_id = runs.claim(session, owner, NOW)
            assert run_id is not None
            frame = runs.rows(session, run_id).root
            session.add(Attempt(run_id=run_id, frame_id=frame.id, step="s", kind="agent", number=1, started_at=NOW))
            held.append(run_id)
        return held

    return await store.write(work)


def beat(session: Session, *names: str) -> None:
    for name in names:
        processes.beat(session, name, host="h", kind="worker")


async def codes(store: Store) -> list[tuple[AttemptState, str]]:
    query = select(Attempt).order_by(col(Attempt.id))
    return await store.read(lambda s: [(a.state, a.error.get("code", "")) for a in s.exec(query)])


async def test_only_the_dead_are_robbed(store: Store) -> None:
    """Neither the living nor whoever asks, even where its own row is gone."""
    await store.write(lambda s: beat(s, "living"))
    await claimed(store, "living", 1)
    await claimed(store, "me", 2)
    (lost,) = await claimed(store, "dead", 3)
    assert await store.read(lambda s: leases.orphans(s, "me")) == {"dead": [lost]}
    assert await store.write(lambda s: leases.recover(s, "me", NOW)) == [lost]
    assert await store.write(lambda s: leases.recover(s, "me", NOW)) == []
    assert await codes(store) == [
        (AttemptState.RUNNING, ""),
        (AttemptState.RUNNING, ""),
        (AttemptState.INTERRUPTED, "interrupted"),
    ]


async def test_each_death_is_counted_by_itself(store: Store) -> None:
    """Two processes died, one with two runs, one with one: that one is to blame for nothing but its own."""
    together = await claimed(store, "first", 1, 2)
    (single,) = await claimed(store, "second", 3)
    await store.write(lambda s: leases.recover(s, "me", NOW))
    assert [code for _, code in await codes(store)] == ["interrupted_with_others"] * 2 + ["interrupted"]
    suspects = await store.read(lambda s: set(s.exec(select(Run.id).where(col(Run.suspect).is_(True)))))
    assert suspects == set(together)
    assert single not in suspects


async def test_suspects_are_so_until_they_come_to_rest(store: Store) -> None:
    """Queued or running they are; not once they wait or have ended."""
    one, two = await claimed(store, "dead", 1, 2)
    await store.write(lambda s: leases.recover(s, "me", NOW))
    assert await store.read(leases.any_suspect)
    assert await store.write(lambda s: runs.claim(s, "me", NOW)) == one
    await store.write(lambda s: runs.wait(s, s.get_one(Run, one), NOW, None))
    assert await store.read(leases.any_suspect)
    await store.write(lambda s: s.execute(update(Run).where(col(Run.id) == two).values(state=RunState.SUCCEEDED)))
    assert not await store.read(leases.any_suspect)
    await store.write(lambda s: runs.wake(s, one))
    assert not await store.read(leases.any_suspect)


@pytest.mark.parametrize(
    ("state", "owner", "held"),
    [
        (RunState.RUNNING, "me", True),
        (RunState.RUNNING, "another", False),
        (RunState.QUEUED, None, False),
        (RunState.WAITING, None, False),
        (RunState.SUCCEEDED, None, True),
    ],
)
async def test_what_is_written_for_a_run_is_written_by_its_holder(
    store: Store, state: RunState, owner: str | None, held: bool
) -> None:
    """Of one that is over nothing can come any more."""
    (run_id,) = await claimed(store, "me", 1)
    await store.write(
        lambda s: s.execute(update(Run).where(col(Run.id) == run_id).values(state=state, lease_owner=owner))
    )
    assert await store.read(lambda s: leases.held(s, run_id, "me")) is held
    assert await store.read(lambda s: leases.held_by_others(s, "me")) == ({run_id} if owner == "another" else set())


async def test_a_process_that_beats_again_keeps_what_nobody_took(store: Store) -> None:
    """Silent for too long, and then back before anybody looked."""
    await store.write(lambda s: beat(s, "slow"))
    (run_id,) = await claimed(store, "slow", 1)
    old = timedelta(minutes=1)
    await store.write(lambda s: s.execute(update(Process).values(beat_at=processes.now(s) - old)))
    assert await store.read(lambda s: leases.orphans(s, "me")) == {"slow": [run_id]}
    await store.write(lambda s: beat(s, "slow"))
    assert await store.read(lambda s: leases.orphans(s, "me")) == {}


async def test_the_newest_id_of_a_run_is_found_wherever_it_is(store: Store) -> None:
    """Among its attempts, values and what it says; not among those of other runs."""
    (run_id,) = await claimed(store, "me", 1)
    await claimed(store, "me", 2)
    newest = await store.read(lambda s: s.exec(select(Attempt.id).where(Attempt.run_id == run_id)).one())
    assert await store.read(lambda s: leases.newest_id(s, run_id)) == newest
    ahead = "7ZZZZZZZZZZZZZZZZZZZZZZZZ1"

    def value(session: Session) -> None:
        frame = runs.rows(session, run_id).root
        session.add(Value(id=ahead, run_id=run_id, frame_id=frame.id, key="k", text="t"))

    await store.write(value)
    assert await store.read(lambda s: leases.newest_id(s, run_id)) == ahead
    later = ahead[:-1] + "2"

    def said(session: Session) -> None:
        thread_id = session.get_one(Run, run_id).thread_id
        session.add(
            Outbox(
                id=later, slot="run/x:result", thread_id=thread_id, run_id=run_id, action="comment", purpose="result",
                body="b", digest="d", priority=0, created_at=NOW,
            )
        )  # fmt: skip

    await store.write(said)
    assert await store.read(lambda s: leases.newest_id(s, run_id)) == later
    assert await store.read(lambda s: leases.newest_id(s, new_id())) is None
