"""The only writer of run rows: each function here is the work of one transaction.

An outcome is recorded together with everything it led to (the start of the next attempts, what is to be said), so that
a kill at any point leaves rows from which the run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf

from bot.engine import run_inputs
from bot.engine.advance import Advance, Advancing
from bot.engine.ending import finish
from bot.engine.graph import End
from bot.engine.ledger import keep_outcome
from bot.engine.terms import Begun, Say, Terms
from bot.errors import Lost, Transient
from bot.model.outcome import Failed, Outcome
from bot.model.patience import patience
from bot.model.state import AttemptState, RunState, follow
from bot.store import Session, clones, runs, snapshots
from bot.store.tables import Attempt, Run
from bot.workspace import Left
from bot.workspace.staging import StagedFile

__all__ = [
    "Advance",
    "Begun",
    "Performed",
    "Say",
    "Terms",
    "abandon",
    "advance",
    "attach",
    "fail",
    "finish",
    "keep_inputs",
    "keep_thread",
    "postpone",
    "record",
    "refuse",
]


#: seconds until a run that GitHub does not let start tries it again
_SOONEST, _SELDOMEST = 5.0, 60.0


@dataclass(frozen=True, slots=True)
class Performed:
    """What a step came to, with the bytes of the files that it produces, by id.

    `given` are the files that a `uses` step has read for its workflow, which begins when it is recorded; `head` is the
    commit that an `ask` step has read, which an answer is bound to; `left` what the run's clone holds after it, where
    that is new and the run may go on elsewhere.
    """

    outcome: Outcome
    files: Mapping[str, bytes] = field(default_factory=dict)
    given: tuple[StagedFile, ...] = ()
    head: str | None = None
    left: Left | None = None


def advance(session: Session, run_id: str, terms: Terms, now: datetime, hold: float = inf) -> Advance:
    """Record the starts of what follows, or the end; as far as it goes in `hold` seconds."""
    return Advancing(session, runs.rows(session, run_id, files=False), terms, now).go(hold)


def record(
    session: Session, begun: Begun, performed: Performed, terms: Terms, now: datetime, hold: float = inf
) -> Advance:
    """Record an outcome with all that follows from it in `hold` seconds, which is already recorded as running."""
    rows = runs.rows(session, begun.attempt.run_id, files=False)
    advancing = Advancing(session, rows, terms, now)
    attempt = next(each for each in rows.attempts if each.id == begun.attempt.id)
    if attempt.state is AttemptState.RUNNING:
        level = advancing.tree().level(attempt)
        advancing.settle(level, attempt, performed.outcome, performed.files, performed.given, performed.head)
        if performed.left is not None:
            clones.leave(session, attempt.run_id, performed.left.mark, performed.left.data, now)
    return advancing.go(hold)


def attach(session: Session, attempt_id: str, prompt: bytes, manifest: dict[str, object], now: datetime) -> None:
    """Keep what a step is about to be given, before anything of it runs. Without a model there is no prompt.

    Raises `Lost` where the attempt is over: another process has taken the run over.
    """
    attempt = session.get_one(Attempt, attempt_id)
    if attempt.state is not AttemptState.RUNNING:
        raise Lost(f"the run {attempt.run_id}")
    attempt.prompt_blob = snapshots.put_blob(session, prompt, now) if prompt else None
    attempt.manifest = manifest
    session.add(attempt)


def keep_inputs(session: Session, run_id: str, files: Sequence[StagedFile], now: datetime) -> None:
    """Keep the files that a run is given: every step sees the same bytes, also after a crash and elsewhere."""
    root = runs.rows(session, run_id, files=False).root
    if not run_inputs.is_kept(root):
        run_inputs.keep(session, root, files, now)


def keep_thread(session: Session, run_id: str, data: bytes, now: datetime) -> str:
    """Keep the thread as read for this run's anchor: every step sees the same, also after a crash. What is kept.

    The first one counts, as the digest of a blob.
    """
    run = session.get_one(Run, run_id)
    if run.thread_blob is None:
        run.thread_blob = snapshots.put_blob(session, data, now)
        session.add(run)
    return run.thread_blob


def abandon(session: Session, run_id: str, say: Say, now: datetime, *, cancelled: bool) -> None:
    """The work on a run was called off: by a person (it ends), or because this process stops (it is handed back)."""
    rows = runs.rows(session, run_id, files=False)
    if rows.run.state is not RunState.RUNNING:
        return
    state = AttemptState.CANCELLED if cancelled else AttemptState.INTERRUPTED
    for attempt in rows.attempts:
        if attempt.state is AttemptState.RUNNING:
            if not cancelled and runs.put_back(session, attempt):
                continue
            attempt.state = follow(attempt.state, state)
            attempt.ended_at = now
            attempt.error = {"code": "cancelled" if cancelled else "stopped", "message": "called off"}
            session.add(attempt)
    session.flush()
    if cancelled:
        why = rows.run.reason or f"cancelled by {rows.run.cancelled_by}"
        finish(session, rows, End(RunState.CANCELLED, None, why), say, now)
    else:
        runs.release(session, rows.run, now)


def postpone(session: Session, run_id: str, error: Transient, say: Say, now: datetime, since: datetime) -> None:
    """GitHub gave no answer that the start needs: try again soon, and fail once patience with GitHub ends.

    That is counted from when it first tried to start; of one that has begun, from `since`, when its first fault was.
    """
    rows = runs.rows(session, run_id, files=False)
    if rows.run.state is not RunState.RUNNING:
        return
    # not since it was queued: it may have waited for the runs before it
    begun = any(attempt.taken_from is None for attempt in rows.attempts)
    waited = now - (since if begun else rows.run.started_at or rows.run.queued_at)
    if waited >= patience(error):
        fail(session, run_id, Failed("github_unavailable", f"GitHub did not answer: {error}"), say, now)
        return
    # the longer it takes, the seldomer it is asked: a thousand runs may wait for it
    pause = max(_SOONEST, min(waited.total_seconds(), _SELDOMEST), error.retry_after or 0.0)
    runs.release(session, rows.run, now, now + timedelta(seconds=pause))


def refuse(session: Session, run_id: str, end: End, say: Say, now: datetime) -> None:
    """End a run that must not start or go on. What a dead process left running in it has ended with that."""
    rows = runs.rows(session, run_id, files=False)
    for attempt in rows.attempts:
        if attempt.state is AttemptState.RUNNING:
            attempt.state, attempt.ended_at = follow(attempt.state, AttemptState.CANCELLED), now
            session.add(attempt)
    session.flush()
    finish(session, rows, end, say, now)


def fail(session: Session, run_id: str, failure: Failed, say: Say, now: datetime) -> None:
    """End a run that cannot go on for a reason outside its steps (configuration gone, a bug of ours)."""
    rows = runs.rows(session, run_id, files=False)
    if rows.run.state is not RunState.RUNNING:
        return
    for attempt in rows.attempts:
        if attempt.state is AttemptState.RUNNING:
            keep_outcome(session, attempt, failure, now)
            attempt.state = follow(attempt.state, AttemptState.FAIL)
    session.flush()
    finish(session, rows, End(RunState.FAILED, None, f"{failure.code}: {failure.message}", failure.hint), say, now)
