"""What an attempt waits for: done once, in order, and the run is woken when the last of it is settled."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import select

from bot.model.ident import digest
from bot.model.slot import Slot
from bot.model.state import AttemptState, OutboxState, RunState
from bot.store import Session, Store, doubt, outbox, posts, runs
from bot.store.tables import Attempt, Frame, Outbox, Run
from tests import rows
from tests.sending import claim_next

from .conftest import NOW


class Waiting:
    """A run that waits for what one of its attempts posts."""

    def __init__(self, store: Store, state: RunState = RunState.WAITING) -> None:
        self.store, self.state = store, state
        self.run_id, self.attempts = "", ["", ""]

    async def begin(self) -> Waiting:
        def work(session: Session) -> None:
            run = rows.run(session, guid="g")
            run.state, run.not_before = self.state, NOW + timedelta(hours=1)
            frame = Frame(run_id=run.id)
            session.add_all([run, frame])
            session.flush()
            made = [
                Attempt(run_id=run.id, frame_id=frame.id, step="say", kind="notify", number=n, started_at=NOW,
                        state=AttemptState.WAITING)
                for n in (1, 2)
            ]  # fmt: skip
            session.add_all(made)
            session.flush()
            self.run_id, self.attempts = run.id, [one.id for one in made]

        await self.store.write(work)
        return self

    async def wants(self, action: str, body: str = "{}", *, attempt: int = 0, name: str = "") -> str:
        def work(session: Session) -> str:
            run = session.get_one(Run, self.run_id)
            return outbox.ensure(
                session,
                Slot(f"run/{run.id}", name or action, step="say"),
                thread_id=run.thread_id,
                action=action,
                purpose="output" if action == "comment" else "action",
                body=body,
                now=NOW,
                run_id=run.id,
                sequence=run.sequence,
                attempt_id=self.attempts[attempt],
            ).id

        return await self.store.write(work)

    async def posted(self, row_id: str) -> None:
        """It is sent, unless it was claimed already, and stands on GitHub."""
        if (await self.row(row_id)).state is OutboxState.PENDING:
            await self.claim()
        await self.store.write(lambda s: outbox.posted(s, row_id, 5, "url", NOW, digest("{}")))

    async def claim(self) -> str | None:
        said = await self.store.write(lambda s: claim_next(s, "me", NOW))
        return said.row.id if said else None

    async def run(self) -> Run:
        return await self.store.read(lambda s: s.get_one(Run, self.run_id))

    async def row(self, row_id: str) -> Outbox:
        return await self.store.read(lambda s: s.get_one(Outbox, row_id))


@pytest.fixture
async def waiting(store: Store) -> Waiting:
    return await Waiting(store).begin()


async def test_the_last_row_wakes_the_run(waiting: Waiting) -> None:
    """Not the first of two; then at once, at the front of its thread's queue."""
    first, second = await waiting.wants("labels"), await waiting.wants("close")
    await waiting.posted(first)
    assert (await waiting.run()).state is RunState.WAITING
    seen = waiting.store.bell("queue").count
    await waiting.posted(second)
    run = await waiting.run()
    assert (run.state, run.front, run.not_before) == (RunState.QUEUED, 1, None)
    assert waiting.store.bell("queue").count > seen
    assert await waiting.store.write(lambda s: runs.claim(s, "me", NOW)) == waiting.run_id


async def test_a_dropped_row_is_settled_too(waiting: Waiting) -> None:
    """With its reason and what is known."""
    row_id = await waiting.wants("review")
    await waiting.claim()
    await waiting.store.write(lambda s: outbox.drop(s, row_id, "head_moved", {"moved_to": "9"}))
    row = await waiting.row(row_id)
    assert (row.state, row.reason, row.outcome) == (OutboxState.DROPPED, "head_moved", {"moved_to": "9"})
    assert (await waiting.run()).state is RunState.QUEUED


async def test_a_comment_that_comes_back_settles_its_row(waiting: Waiting) -> None:
    """Our webhook ends the doubt, and with it the wait."""
    row_id = await waiting.wants("comment", "hello")
    await waiting.claim()
    await waiting.store.write(lambda s: doubt.unsure(s, row_id, NOW, "no answer"))
    slot = (await waiting.row(row_id)).slot
    await waiting.store.write(lambda s: doubt.confirm(s, slot, 7, "u", NOW))
    assert (await waiting.row(row_id)).outcome == {"id": 7, "url": "u"}
    assert (await waiting.run()).state is RunState.QUEUED


async def test_a_review_that_comes_back_is_looked_for_at_once(waiting: Waiting) -> None:
    """Its outcome holds more than the delivery says."""
    row_id = await waiting.wants("review")
    await waiting.claim()
    slot = (await waiting.row(row_id)).slot
    assert await waiting.store.write(lambda s: doubt.confirm(s, slot, 7, "u", NOW)) is None
    assert (await waiting.row(row_id)).posted_id is None
    await waiting.store.write(lambda s: doubt.unsure(s, row_id, NOW + timedelta(seconds=90), "no answer"))
    await waiting.store.write(lambda s: doubt.confirm(s, slot, 7, "u", NOW))
    row = await waiting.row(row_id)
    assert (row.state, row.not_before, row.posted_id) == (OutboxState.UNSURE, NOW, None)
    assert (await waiting.run()).state is RunState.WAITING


async def test_a_run_under_way_is_told_by_its_bell(store: Store) -> None:
    """It may be about to wait."""
    waiting = await Waiting(store, RunState.RUNNING).begin()
    row_id = await waiting.wants("labels")
    seen = store.bell("answers").count
    await waiting.posted(row_id)
    assert (await waiting.run()).state is RunState.RUNNING
    assert store.bell("answers").count == seen + 1


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.CANCELLED, RunState.SUCCEEDED])
async def test_no_other_run_is_woken(store: Store, state: RunState) -> None:
    """And a run that is gone is none."""
    waiting = await Waiting(store, state).begin()
    seen = store.bell("answers").count
    await waiting.posted(await waiting.wants("labels"))
    await store.write(lambda s: runs.wake(s, "01ARZ3NDEKTSV4RRFFQ69G5FAV"))
    run = await waiting.run()
    assert (run.state, run.front, run.not_before) == (state, 0, NOW + timedelta(hours=1))
    assert store.bell("answers").count == seen


async def test_what_one_attempt_wants_is_done_in_order(waiting: Waiting) -> None:
    """One after the other; another attempt's goes on."""
    first, second = await waiting.wants("comment"), await waiting.wants("close")
    other = await waiting.wants("labels", attempt=1)
    assert [await waiting.claim() for _ in range(3)] == [first, other, None]
    await waiting.store.write(lambda s: outbox.posted(s, first, 5, "url", NOW, digest("{}")))
    assert await waiting.claim() == second


async def test_an_action_is_done_once(waiting: Waiting) -> None:
    """Its payload may change only while it was not sent; a comment's text at any time."""
    row_id = await waiting.wants("labels", "{}")
    assert await waiting.wants("labels", '{"add":["bug"]}') == row_id
    assert (await waiting.row(row_id)).body == '{"add":["bug"]}'
    await waiting.wants("labels", "{}")
    await waiting.claim()
    await waiting.wants("labels", '{"add":["crash"]}')
    assert (await waiting.row(row_id)).body == "{}"
    await waiting.store.write(lambda s: outbox.posted(s, row_id, None, "", NOW, "another", {"added": []}))
    await waiting.wants("labels", '{"add":["crash"]}')
    row = await waiting.row(row_id)
    assert (row.state, row.body, row.outcome) == (OutboxState.POSTED, "{}", {"added": []})


async def test_another_attempt_takes_over_what_was_begun(waiting: Waiting) -> None:
    """What is done already wakes its run at once."""
    row_id = await waiting.wants("labels")
    await waiting.wants("labels", attempt=1)
    assert (await waiting.row(row_id)).attempt_id == waiting.attempts[1]
    assert (await waiting.run()).state is RunState.WAITING
    await waiting.posted(row_id)

    def wait_again(session: Session) -> None:
        session.get_one(Run, waiting.run_id).state = RunState.WAITING

    await waiting.store.write(wait_again)
    await waiting.wants("labels", attempt=0)
    assert (await waiting.run()).state is RunState.QUEUED


async def test_what_an_attempt_waits_for(waiting: Waiting) -> None:
    """Whether some of it is open."""
    first, second = await waiting.wants("labels"), await waiting.wants("close")
    attempt = waiting.attempts[0]
    assert await waiting.store.read(lambda s: posts.any_open(s, attempt))
    await waiting.posted(first)
    await waiting.posted(second)
    assert not await waiting.store.read(lambda s: posts.any_open(s, attempt))
    assert not await waiting.store.read(lambda s: posts.any_open(s, waiting.attempts[1]))


async def test_pace_and_places(waiting: Waiting) -> None:
    """A silent installation holds back all that goes to GitHub; bounds of content hold back what makes some."""

    async def taken(**bounds: Any) -> set[str]:
        found = set()
        while (said := await waiting.store.write(lambda s: claim_next(s, "me", NOW, **bounds))) is not None:
            found.add(said.row.action)
            await waiting.posted(said.row.id)
        return found

    for action in ("labels", "review", "pull_request", "webhook", "dispatch"):
        await waiting.wants(action, attempt=1)
        await waiting.store.write(_alone)
    assert await taken(silent=[77]) == {"webhook", "dispatch"}
    assert await taken(no_content=[77]) == {"labels"}
    assert await taken() == {"review", "pull_request"}


def _alone(session: Session) -> None:
    """Rows without an attempt wait for no other."""
    for row in session.exec(select(Outbox)):
        row.attempt_id = None
