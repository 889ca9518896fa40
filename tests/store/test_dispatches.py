"""Dispatches and the runs they start: order, numbers, cancelling."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from bot.errors import IllegalTransition
from bot.model.state import AttemptState, DispatchState, RunState
from bot.store import Session, Store, dispatches, runs
from bot.store.tables import Attempt, Dispatch, Run
from tests import rows

from .conftest import NOW


async def test_each_thread_counts_for_itself(store: Store) -> None:
    """Sequence and run numbers go up by one in a thread; a run has its root frame; the queue is woken."""
    bell = store.bell("queue").count

    def work(session: Session) -> list[tuple[int, int]]:
        made = [rows.run(session, number, guid=guid) for number, guid in ((1, "a"), (2, "b"), (1, "c"))]
        assert [len(runs.rows(session, run.id).frames) for run in made] == [1, 1, 1]
        return [(run.number, run.sequence) for run in made]

    assert await store.write(work) == [(1, 1), (1, 1), (2, 2)]
    assert store.bell("queue").count > bell


async def test_one_mention_of_one_delivery_is_accepted_once(store: Store) -> None:
    """A delivery that is planned twice by mistake starts nothing twice."""
    await store.write(lambda s: rows.run(s, guid="a"))

    def again(session: Session) -> None:
        found = dispatches.get(session, dispatches.of_thread(session, rows.thread(session).id)[0].dispatch_id)
        copy = Dispatch(**found.model_dump(exclude={"id"}))
        dispatches.accept(session, copy, "ask", NOW)

    with pytest.raises(IntegrityError):
        await store.write(again)
    assert len(await store.read(lambda s: runs.recent(s))) == 1


async def test_another_run_of_a_dispatch(store: Store) -> None:
    """Keeps the dispatch's place in the order and has a number of its own."""

    def work(session: Session) -> tuple[int, int]:
        first = rows.run(session, guid="a")
        rows.run(session, guid="b")
        second = dispatches.queue_run(session, dispatches.get(session, first.dispatch_id), "ask", NOW)
        return second.sequence, second.number

    assert await store.write(work) == (1, 3)


async def test_runs_of_a_thread(store: Store) -> None:
    """The newest first, by number, and those that have not ended in order."""

    def work(session: Session) -> tuple[list[int], list[int], int | None, Run | None]:
        for guid in "abcd":
            rows.run(session, guid=guid)
        rows.run(session, 2, guid="other")
        where = rows.thread(session).id
        ended = dispatches.numbered(session, where, 2)
        assert ended is not None
        ended.state = RunState.FAILED
        session.add(ended)
        session.flush()
        newest = [run.number for run in dispatches.of_thread(session, where, 3)]
        still = [run.number for run in dispatches.open_of_thread(session, where)]
        third = dispatches.numbered(session, where, 3)
        return newest, still, third.number if third else None, dispatches.numbered(session, where, 9)

    assert await store.write(work) == ([4, 3, 2], [1, 3, 4], 3, None)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.WAITING])
async def test_cancelling_what_nobody_works_on_ends_it(store: Store, state: RunState) -> None:
    """Run, dispatch, and an attempt that waits; what has ended stays as it ended; the thread goes on."""

    def prepare(session: Session) -> str:
        run = rows.run(session, guid="a")
        frame = runs.rows(session, run.id).root
        for number, attempt in ((1, AttemptState.SUCCESS), (2, AttemptState.WAITING)):
            session.add(
                Attempt(
                    run_id=run.id,
                    frame_id=frame.id,
                    step="s",
                    kind="run",
                    number=number,
                    state=attempt,
                    started_at=NOW,
                )
            )
        run.state = state
        session.add(run)
        return run.id

    run_id = await store.write(prepare)
    bell = store.bell("queue").count
    at = NOW + timedelta(seconds=9)
    assert await store.write(lambda s: dispatches.cancel(s, s.get_one(Run, run_id), "meg", at)) is True
    found = await store.read(lambda s: runs.rows(s, run_id))
    assert (found.run.state, found.run.cancelled_by, found.run.ended_at) == (RunState.CANCELLED, "meg", at)
    assert (found.run.reason, found.dispatch.reason) == ("cancelled by meg", "cancelled by meg")
    assert found.dispatch.state is DispatchState.CANCELLED
    assert [(a.state, a.ended_at) for a in found.attempts] == [
        (AttemptState.SUCCESS, None),
        (AttemptState.CANCELLED, at),
    ]
    assert store.bell("queue").count == bell + 1
    with pytest.raises(IllegalTransition):
        await store.write(lambda s: dispatches.cancel(s, s.get_one(Run, run_id), "meg", at))
