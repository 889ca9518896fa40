"""What came to an end is read once, however often is looked and in whatever order it was committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from bot.model.ident import first_id, new_id
from bot.model.slot import Slot
from bot.model.state import AttemptState, RunState
from bot.store import Session, Store, happened, outbox, runs
from bot.store.happened import Cursor, Event
from bot.store.tables import Attempt, Run, Spend
from tests import rows
from tests.rows import NOW
from tests.sending import claim_next


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


class Log:
    """Events that a test puts down."""

    def __init__(self, *events: Event) -> None:
        self.events = list(events)
        self.asked: list[datetime] = []

    def read(self, session: Session, since: datetime) -> Sequence[Event]:
        self.asked.append(since)
        kept = sorted((one for one in self.events if one.at >= since), key=lambda one: (one.at, one.id))
        return kept[: happened.MOST]


async def ids(store: Store, cursor: Cursor[Event]) -> list[str]:
    """What is new."""
    return [one.id for one in await store.read(cursor.next)]


async def test_each_is_told_once(store: Store) -> None:
    """Also one that was committed after a later one was read, and nothing from before the start."""
    log = Log(Event("old", after(-1)), Event("a", after(0)), Event("b", after(10)))
    cursor = Cursor(log.read, NOW)
    assert await ids(store, cursor) == ["a", "b"]
    assert await ids(store, cursor) == []
    log.events += [Event("late", after(5)), Event("c", after(20))]
    assert await ids(store, cursor) == ["late", "c"]
    log.events.append(Event("d", after(500)))
    assert await ids(store, cursor) == ["d"]
    assert await ids(store, cursor) == []
    assert log.asked[-1] == after(500) - happened.OVERLAP
    assert set(cursor._seen) == {"d"}


async def test_more_than_is_read_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in pieces, to the end."""
    monkeypatch.setattr(happened, "MOST", 3)
    log = Log(*(Event(f"{number:02}", after(number)) for number in range(20)))
    assert len(await ids(store, Cursor(log.read, NOW))) == 20


async def test_more_in_one_moment_than_is_read_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends, with what there was room for."""
    monkeypatch.setattr(happened, "MOST", 3)
    log = Log(*(Event(f"{number:02}", NOW) for number in range(5)))
    assert await ids(store, Cursor(log.read, NOW)) == ["00", "01", "02"]


async def test_the_rows(store: Store) -> None:
    """Attempts, runs, posts and spending, each with what is told of it."""

    def work(session: Session) -> Run:
        run = rows.run(session, guid="a")
        frame = runs.rows(session, run.id).root.id
        common: dict[str, Any] = {"run_id": run.id, "frame_id": frame, "step": "s", "kind": "run", "started_at": NOW}
        session.add_all(
            [
                Attempt(**common, number=1, state=AttemptState.FAIL, ended_at=after(2), error={"code": "exit_1"}),
                Attempt(**common, number=2, state=AttemptState.SUCCESS, ended_at=after(3)),
                Attempt(**common, number=3, state=AttemptState.SUCCESS, ended_at=after(3), taken_from="x"),
                Attempt(**common, number=4),
            ]
        )
        slot = Slot(f"run/{run.id}", "result")
        said = outbox.ensure(
            session, slot, thread_id=run.thread_id, run_id=run.id, action="comment", purpose="result", body="x", now=NOW
        )
        claimed = claim_next(session, "me", NOW)
        assert claimed is not None
        outbox.posted(session, said.id, 1, "", after(9), said.digest)
        run.state, run.ended_at = RunState.SUCCEEDED, after(8)
        session.add(run)
        where: dict[str, Any] = {
            "installation_id": 1,
            "repository_id": 1,
            "thread_id": "t",
            "actor_id": 1,
            "run_id": run.id,
        }
        session.add(Spend(**where, model="m", input_tokens=3, output_tokens=4, cost=0.5, at=NOW))
        return run

    run = await store.write(work)
    attempts = await store.read(lambda session: happened.attempts(session, NOW))
    assert [(one.kind, one.state, one.code, one.seconds) for one in attempts] == [
        ("run", "fail", "exit_1", 2.0),
        ("run", "success", "", 3.0),
    ]
    (ended,) = await store.read(lambda session: happened.runs(session, NOW))
    assert (ended.id, ended.state, ended.seconds) == (run.id, "succeeded", 8.0)
    (posted,) = await store.read(lambda session: happened.posted(session, NOW))
    assert (posted.action, posted.purpose, posted.seconds) == ("comment", "result", 9.0)
    (spent,) = await store.read(lambda session: happened.spent(session, NOW))
    assert (spent.model, spent.input_tokens, spent.output_tokens, spent.cost) == ("m", 3, 4, 0.5)
    reads: tuple[Callable[..., Sequence[Event]], ...] = (happened.attempts, happened.runs, happened.posted)
    for read in reads:
        assert list(await store.read(partial(read, since=after(10)))) == []


def test_the_first_id_of_a_moment() -> None:
    """Behind every one from before it, in front of every one from then on."""
    before = datetime.now(NOW.tzinfo) - timedelta(milliseconds=5)
    assert first_id(before) <= new_id()
    assert first_id(before + timedelta(hours=1)) > new_id()
