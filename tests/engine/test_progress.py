"""How runs tell that they are under way: one comment after a minute, edited seldom, closed with a link."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import select

from bot.engine import commit, run_words
from bot.engine.graph import End
from bot.engine.progress import NEVER, Progress
from bot.model.outcome import Done, Usage
from bot.model.slot import Slot
from bot.model.state import OutboxState, RunState
from bot.publish import Redactor, Speaker
from bot.store import Session, Store, dispatches, outbox, runs
from bot.store.runs import RunRows
from bot.store.tables import Outbox, Thread
from bot.workflows import Memo, builtin_files
from tests.engine.play import Play, open_gate
from tests.engine.scene import StillClock, open_case, steps
from tests.rows import NOW
from tests.rows import run as queued


class Telling:
    """A run that is played, and whoever tells about it."""

    def __init__(self, play: Play) -> None:
        self.play, self.store, self.clock = play, play.case.store, StillClock(NOW)
        self.speaker = Speaker(Redactor([]), self.clock)
        self.progress = Progress(self.store, self.speaker, Memo(builtin_files()), self.clock, lambda: "@bot")

    async def after(self, seconds: float) -> str | None:
        """Let so much time pass and look; what the comment says."""
        self.clock.advance(seconds)
        self.play.now = self.clock.now()
        await self.progress.tell()
        row = await self.row()
        return row.body if row is not None else None

    async def row(self) -> Outbox | None:
        """The row of the status comment."""
        slot = Slot(f"run/{self.play.case.run_id}", "status")
        return await self.store.read(lambda s: outbox.find(s, slot))

    async def posted(self) -> None:
        """The comment stands on GitHub."""

        def work(session: Session) -> None:
            row = outbox.find(session, Slot(f"run/{self.play.case.run_id}", "status"))
            assert row is not None
            row.state = OutboxState.SENDING
            session.add(row)
            outbox.posted(session, row.id, 900, "https://x.test/900", self.clock.now(), row.digest)

        await self.store.write(work)

    async def ends(self, state: RunState = RunState.SUCCEEDED) -> None:
        """The run ends, and what it says is put into the outbox."""

        def work(session: Session) -> None:
            rows = runs.rows(session, self.play.case.run_id)
            commit.finish(session, rows, End(state, None, ""), lambda *_: None, self.clock.now())
            slot = Slot(f"run/{rows.run.id}", "result", step="s1")
            self.speaker.comment(session, rows.thread, slot, purpose="result", body="done", run=rows.run)

        await self.store.write(work)


async def telling(store: Store, text: str, **script: Any) -> Telling:
    """A run of the workflow `main` that has begun."""
    play = Play(await open_case(store, text), script)
    await play.more()
    return Telling(play)


async def test_nothing_is_told_before_a_minute_and_then_once(store: Store) -> None:
    """The comment comes after sixty seconds."""
    told = await telling(store, steps(3))
    assert await told.after(59) is None
    assert await told.after(1) == ("r1 `main` · running 1 min\n\n⏳ s1 · s2 · s3\n\n<sub>`@bot cancel r1`</sub>")


async def test_it_is_edited_after_fifteen_seconds_and_only_where_something_changed(store: Store) -> None:
    """What a look finds earlier waits for the next one."""
    told = await telling(store, steps(3), s1=Done(output="x", usage=Usage(10, 10, 1, 0.11)))
    first = await told.after(60)
    await told.posted()
    await told.play.step()
    assert await told.after(14) == first
    assert await told.after(1) == (
        "r1 `main` · running 1 min · $0.11 so far\n\n✅ s1 (1 min) · ⏳ s2 · s3\n\n<sub>`@bot cancel r1`</sub>"
    )
    await told.posted()
    assert (row := await told.row()) is not None
    assert row.state is OutboxState.POSTED
    assert await told.after(16) == row.body
    assert (await told.row()).state is OutboxState.POSTED  # type: ignore[union-attr]  # it is there


async def test_what_a_retry_took_over_was_paid_by_the_run_it_is_from(store: Store) -> None:
    """As its footer has it."""
    told = await telling(store, steps(2), s1=Done(output="x", usage=Usage(10, 10, 1, 0.11)))
    await told.play.step()

    def taken(session: Session) -> None:
        (first, *_) = runs.rows(session, told.play.case.run_id).attempts
        first.taken_from = "another"
        session.add(first)

    await store.write(taken)
    assert (await told.after(60) or "").startswith("r1 `main` · running 1 min\n")


async def test_an_edit_is_fifteen_seconds_behind_what_was_sent_late(store: Store) -> None:
    """The pace may hold a comment back: the time between two edits counts from when the first stood there."""
    told = await telling(store, steps(3), s1=Done(output="x"))
    await told.after(60)
    told.clock.advance(10)
    await told.posted()
    await told.play.step()
    assert "✅ s1" in (await told.after(5) or "")
    assert (row := await told.row()) is not None
    assert (row.state, row.not_before) == (OutboxState.PENDING, told.clock.now() + timedelta(seconds=10))


async def test_it_ends_as_one_line_that_leads_to_the_result(store: Store) -> None:
    """Only when the result stands, and never more than one edit in fifteen seconds."""
    told = await telling(store, steps(1))
    await told.after(60)
    await told.posted()
    await told.ends()
    assert (await told.after(15) or "").startswith("r1 `main` · running")

    def work(session: Session) -> None:
        row = session.exec(select(Outbox).where(Outbox.purpose == "result")).one()
        row.state = OutboxState.SENDING
        session.add(row)
        outbox.posted(session, row.id, 901, "https://x.test/901", NOW, row.digest)

    await told.store.write(work)
    assert await told.after(1) == "r1 `main` · succeeded after 1 min · [see there](https://x.test/901)"
    assert (await told.play.case.run()).status_at == NEVER


async def test_a_run_that_ended_before_its_comment_left_says_only_its_result(store: Store) -> None:
    """Nobody needs a status of what is over."""
    told = await telling(store, steps(1))
    await told.after(60)
    await told.ends(RunState.FAILED)
    await told.after(15)
    assert (row := await told.row()) is not None
    assert row.state is OutboxState.DROPPED


async def test_a_run_that_never_told_has_nothing_to_close(store: Store) -> None:
    """Short runs leave no status."""
    told = await telling(store, steps(1))
    await told.ends()
    assert await told.after(600) is None


async def test_repositories_that_want_a_reaction_alone_get_no_comment(store: Store) -> None:
    """`progress: reaction` and `none`."""
    told = await telling(store, steps(1) + "publish: {progress: reaction}\n")
    assert await told.after(60) is None
    assert (await told.play.case.run()).status_at == NEVER


async def test_a_queued_run_tells_its_place(store: Store) -> None:
    """How many go before it."""
    told = await telling(store, steps(1))
    behind = await store.write(lambda s: queued(s, guid="h", workflow="main", files={}).id)
    told.clock.advance(60)
    await told.progress.tell()
    slot = Slot(f"run/{behind}", "status")
    assert (row := await store.read(lambda s: outbox.find(s, slot))) is not None
    assert row.body.startswith("r2 `main` · queued, 1 before it")


async def test_a_gate_that_waits_is_told_once_and_its_answer_afterwards(store: Store) -> None:
    """Nobody looks at a run that waits until it goes on."""
    text = (
        "version: 1\nworkflows:\n  main:\n    steps:\n      - {id: ok, ask: Really?}\n      - {id: s2, run: 'true'}\n"
    )
    told = await telling(store, text)
    assert (await told.after(60) or "").startswith("r1 `main` · waits for an answer to r1.ok\n\n✋ ok · s2")
    at = (await told.play.case.run()).status_at
    await told.after(3600)
    assert (await told.play.case.run()).status_at == at

    def answer(session: Session) -> None:
        gate = open_gate(runs.rows(session, told.play.case.run_id))
        gate.answer, gate.state = {"answer": "approve", "by": "meg"}, type(gate.state).ANSWERED
        session.add(gate)
        session.flush()
        runs.wake(session, gate.run_id)

    await store.write(answer)
    await told.play.claim()
    await told.play.more()
    assert await told.after(15) == (
        "r1 `main` · running 1 min\n\n✅ ok (`@meg`) · ⏳ s2\n\n<sub>`@bot cancel r1`</sub>"
    )


async def test_on_a_pull_request_a_check_says_the_same_and_is_completed_whatever_ends_the_run(store: Store) -> None:
    """A run that is cancelled while it waits has no worker that would say so."""
    told = await telling(store, steps(2))

    def pull(session: Session) -> None:
        run = runs.rows(session, told.play.case.run_id).run
        thread = session.get_one(Thread, run.thread_id)
        thread.is_pull_request = True
        session.add(thread)

    await store.write(pull)
    await told.after(60)
    slot = Slot(f"run/{told.play.case.run_id}", "check")
    assert (row := await store.read(lambda s: outbox.find(s, slot))) is not None
    assert '"status":"in_progress"' in row.body
    assert "⏳ s1 · s2" in row.body

    def cancel(session: Session) -> None:
        run = runs.rows(session, told.play.case.run_id).run
        run.state = RunState.WAITING
        dispatches.cancel(session, run, "meg", NOW + timedelta(seconds=61))

    await store.write(cancel)
    await told.after(15)
    assert (row := await store.read(lambda s: outbox.find(s, slot))) is not None
    assert '"conclusion":"cancelled"' in row.body


async def test_what_github_refuses_is_not_tried_at_every_change(store: Store) -> None:
    """The thread was locked: nothing is sent while the run goes on; what stands there is closed with one try."""
    told = await telling(store, steps(3), s1=Done(output="x"))
    await told.after(60)
    await told.posted()
    await told.play.step()
    await told.after(15)

    def refuse(session: Session) -> None:
        row = outbox.find(session, Slot(f"run/{told.play.case.run_id}", "status"))
        assert row is not None
        outbox.drop(session, row.id, "locked")

    await store.write(refuse)
    await told.after(600)
    assert (row := await told.row()) is not None
    assert (row.state, row.reason) == (OutboxState.DROPPED, "locked")
    await told.ends()
    await store.write(lambda s: outbox.drop(s, s.exec(select(Outbox).where(Outbox.purpose == "result")).one().id, "x"))
    assert (await told.after(15) or "").startswith("r1 `main` · succeeded after ")
    assert (row := await told.row()) is not None
    assert row.state is OutboxState.PENDING
    await store.write(refuse)
    await told.after(600)
    assert (row := await told.row()) is not None
    assert row.state is OutboxState.DROPPED


async def test_a_check_that_is_refused_is_not_tried_again(store: Store) -> None:
    """The App may lack the permission: a run of an hour asks once."""
    told = await telling(store, steps(2))
    slot = Slot(f"run/{told.play.case.run_id}", "check")

    def pull(session: Session) -> None:
        thread = session.get_one(Thread, runs.rows(session, told.play.case.run_id).run.thread_id)
        thread.is_pull_request = True
        session.add(thread)

    def refuse(session: Session) -> None:
        row = outbox.find(session, slot)
        assert row is not None
        outbox.drop(session, row.id, "permission_missing: checks")

    await store.write(pull)
    await told.after(60)
    await store.write(refuse)
    await told.after(600)
    await told.ends()
    await told.after(15)
    assert (row := await store.read(lambda s: outbox.find(s, slot))) is not None
    assert row.state is OutboxState.DROPPED


async def test_a_status_that_cannot_be_told_stops_nobody(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run's is told all the same, and the broken one is not tried for ever."""
    told = await telling(store, steps(1))
    other = await store.write(lambda s: queued(s, number=2, guid="h", workflow="main", files={}).id)
    real = run_words.where

    def where(rows: RunRows, now: datetime, *, before: int = 0) -> str:
        if rows.run.id == told.play.case.run_id:
            raise ValueError("a bug of ours")
        return real(rows, now, before=before)

    monkeypatch.setattr(run_words, "where", where)
    told.clock.advance(60)
    await told.progress.tell()
    assert await store.read(lambda s: outbox.find(s, Slot(f"run/{other}", "status"))) is not None
    assert (await told.play.case.run()).status_at == NEVER
