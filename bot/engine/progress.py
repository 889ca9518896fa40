"""Tells how runs stand while they work: one status comment after a minute, and a check on pull requests.

The comment is edited at most every `every` seconds and only where it says something new; it stays, and ends as one line
that leads to the result. Nothing of this is in memory: `Run.status_at` says when it was last told.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from bot import log, publish
from bot.engine import run_words
from bot.engine.trials import trial_of
from bot.errors import Lost, Transient
from bot.model.clock import Clock
from bot.model.slot import Slot
from bot.model.state import OutboxState, RunState
from bot.publish import Speaker, closed_status_body, run_footer, run_usage, status_body, step_line
from bot.store import Session, Store, dispatches, outbox, posts, runs, spoken
from bot.store.runs import RunRows
from bot.store.tables import Outbox
from bot.workflows import BotFile, Memo, Workflow

_log = log.get("engine")

#: seconds from acceptance to the status comment, and between its edits
AFTER, EVERY = 60.0, 15.0
#: seconds between looks: rows change without ringing a bell that is ours
_LOOK = 5.0
#: `Run.status_at` of a run that tells nothing
NEVER = datetime(9999, 1, 1, tzinfo=UTC)
#: purposes of what a run's status leads to when it is over
_RESULTS = ("result", "output", "error", "cancelled")


class Progress:
    """One for the instance. `handle` is how people call the bot."""

    def __init__(
        self,
        store: Store,
        speaker: Speaker,
        memo: Memo,
        clock: Clock,
        handle: Callable[[], str],
        *,
        after: float = AFTER,
        every: float = EVERY,
    ) -> None:
        self._store, self._speaker, self._memo, self._clock, self._handle = store, speaker, memo, clock, handle
        self._after, self._every = timedelta(seconds=after), timedelta(seconds=every)

    async def run(self) -> None:
        """Tell until cancelled."""
        pause = min(_LOOK, max(0.05, self._after.total_seconds() / 4))
        bell = self._store.bell("posted")
        while True:
            seen = bell.count
            with suppress(Transient):  # the store says so
                await self.tell()
            await bell.wait(seen, pause)
            await self._clock.sleep(min(pause, 1.0))

    async def tell(self) -> None:
        """Tell of every run whose time has come."""
        now = self._clock.now()
        told = await self._store.read(lambda session: runs.untold(session, now - self._after, now - self._every))
        for run_id in told:
            await self._one(run_id)

    async def _one(self, run_id: str) -> None:
        try:
            await publish.write(self._store, lambda session: self._told(session, run_id))
        except (Transient, Lost):
            raise
        except Exception:  # noqa: BLE001  # a status that cannot be told must not stop those of others
            _log.exception("status_not_told", run=run_id)
            await self._store.write(lambda session: runs.status_told(session, run_id, NEVER))

    def _told(self, session: Session, run_id: str) -> None:
        now, rows = self._clock.now(), runs.rows(session, run_id)
        bot, workflow = self._known(rows)
        slot = Slot(f"run/{run_id}", "status")
        say_check(session, self._speaker, rows, workflow, now)
        if rows.run.state.ended:
            self._close(session, rows, slot, now)
            return
        wanted = bot.publish.progress == "status"
        if wanted and now >= rows.run.queued_at + self._after and not _refused(outbox.find(session, slot), rows):
            self._say(session, rows, self._body(session, rows, workflow, bot, now), slot)
        # a check goes on where the comment is not wanted
        told = wanted or rows.thread.is_pull_request
        runs.status_told(session, run_id, now if told else NEVER)

    def _body(self, session: Session, rows: RunRows, workflow: Workflow | None, bot: BotFile, now: datetime) -> str:
        before = dispatches.before(session, rows.run) if rows.run.state is RunState.QUEUED else 0
        return status_body(
            run=rows.run.number,
            workflow=rows.run.workflow,
            where=_where(rows, run_words.where(rows, now, before=before)),
            cost=run_usage(rows.attempts).cost,
            steps=run_words.step_states(rows, workflow) if workflow is not None else (),
            url="",
            handle=bot.handle(self._handle()),
        )

    def _close(self, session: Session, rows: RunRows, slot: Slot, now: datetime) -> None:
        """One line that leads to the result, once that stands; nothing where nothing was told before."""
        row = outbox.find(session, slot)
        if row is not None and row.posted_id is None and row.state is OutboxState.PENDING:
            outbox.drop(session, row.id, "the run ended first")
            row = None
        if row is None or _refused(row, rows):
            runs.status_told(session, rows.run.id, NEVER)
            return
        said = spoken.of_run(session, rows.run.id, _RESULTS)
        if any(one.state in posts.OPEN for one in said):
            return
        posted = [one for one in said if one.url]
        body = closed_status_body(
            run=rows.run.number,
            workflow=rows.run.workflow,
            ended=_where(rows, run_words.where(rows, now)),
            seconds=run_footer(rows.run, rows.attempts).seconds,
            cost=run_usage(rows.attempts).cost,
            url=posted[-1].url if posted else "",
        )
        self._say(session, rows, body, slot)
        runs.status_told(session, rows.run.id, NEVER)

    def _say(self, session: Session, rows: RunRows, body: str, slot: Slot) -> None:
        row = outbox.find(session, slot)
        # what had to wait for the pace was sent later than it was told
        at = row.posted_at + self._every if row is not None and row.posted_at is not None else None
        self._speaker.comment(
            session, rows.thread, slot, purpose="status", body=body, run=rows.run, max_parts=1, not_before=at
        )

    def _known(self, rows: RunRows) -> tuple[BotFile, Workflow | None]:
        checked = self._memo.check(rows.snapshot.repository_id, rows.snapshot.commit, rows.snapshot.files)
        if checked.configuration is None:
            return BotFile(version=1), None
        return checked.configuration.bot, checked.configuration.workflow_for(rows.run.workflow)


def _where(rows: RunRows, where: str) -> str:
    """Where it stands, what it repeats, and what is tried."""
    trial, again = trial_of(rows.dispatch), f"again r{rows.again}" if rows.again is not None else ""
    return " · ".join(filter(None, (where, again, str(trial or ""))))


def _refused(row: Outbox | None, rows: RunRows) -> bool:
    """Whether GitHub refused it, so that it is not tried at every change; what stands there is brought to its end."""
    if row is None or row.state is not OutboxState.DROPPED:
        return False
    return row.posted_id is None or not rows.run.state.ended


def say_check(session: Session, speaker: Speaker, rows: RunRows, workflow: Workflow | None, now: datetime) -> None:
    """The check of a run that has started, where its thread is a pull request. A trial says nothing about a commit."""
    if not rows.thread.is_pull_request or rows.run.started_at is None or rows.dispatch.trial:
        return
    slot = Slot(f"run/{rows.run.id}", "check")
    if _refused(outbox.find(session, slot), rows):
        return
    steps = run_words.step_states(rows, workflow) if workflow is not None else []
    payload = run_words.check_payload(rows, workflow, now, name=rows.run.workflow, line=step_line(steps))
    speaker.check(session, rows.thread, slot, payload, run=rows.run)
