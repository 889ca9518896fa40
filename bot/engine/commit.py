"""The only writer of run rows: each function here is the work of one transaction.

An outcome is recorded together with everything it led to (the start of the next attempt, what is to be said), so that
a kill at any point leaves rows from which the run goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.engine import ledger
from bot.engine.budget import Spent, exceeded
from bot.engine.graph import Busy, End, Start, ready
from bot.errors import Transient
from bot.model.outcome import Failed, Outcome
from bot.model.state import AttemptState, DispatchState, RunState, follow
from bot.store import Session, runs, snapshots, spending
from bot.store.database import ring
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Dispatch, Run, Spend
from bot.workflows import Budget, Configuration, Step, Workflow
from bot.workflows.step import RoutingStep

#: how long a start waits for GitHub's answer
PATIENCE = timedelta(minutes=15)

#: writes what is to be said when a run ends
Say = Callable[[Session, RunRows, End], None]
#: writes what is to be said when a step succeeded
SayStep = Callable[[Session, RunRows, Step, Attempt], None]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run is bound by: its configuration, workflow and budget, the instance's ceiling of a day; who speaks."""

    configuration: Configuration
    workflow: Workflow
    budget: Budget
    usd_day: float
    say: Say
    say_step: SayStep


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt that is recorded as running, with the rows it starts from."""

    step: Step
    attempt: Attempt
    rows: RunRows


def advance(session: Session, run_id: str, terms: Terms, now: datetime) -> Begun | None:
    """Record the start of what follows, or the end; None when nothing is to be performed now."""
    return _advance(session, runs.rows(session, run_id), terms, now)


def _advance(session: Session, rows: RunRows, terms: Terms, now: datetime) -> Begun | None:
    """The same on rows that are at hand. What needs nobody's work (skipped, `switch`, `end`) is passed at once."""
    while rows.run.state is RunState.RUNNING:
        following = _following(session, rows, terms, now)
        match following:
            case Busy():
                return None
            case End():
                finish(session, rows, following, terms.say, now)
            case Start(not_before=wait) if wait is not None and wait > now:
                runs.release(session, rows.run, now, wait)
            case Start():
                step, attempt = _begin(session, rows, terms, following, now)
                if not following.skip and not isinstance(step, RoutingStep):
                    return Begun(step, attempt, rows)
                ledger.settle_passed(session, rows, terms.workflow, step, attempt, following, now)
                _said(session, rows, step, attempt, terms)
    return None


def _begin(session: Session, rows: RunRows, terms: Terms, start: Start, now: datetime) -> tuple[Step, Attempt]:
    step = next(s for s in terms.workflow.steps if s.id == start.step)
    attempt = Attempt(
        run_id=rows.run.id,
        frame_id=rows.root.id,
        step=step.id,
        kind=step.kind,
        number=start.number,
        iteration=start.iteration,
        started_at=now,
    )
    session.add(attempt)
    if rows.dispatch.state is DispatchState.QUEUED:
        rows.dispatch.state = follow(rows.dispatch.state, DispatchState.STARTED)
        session.add(rows.dispatch)
    session.flush()
    rows.attempts.append(attempt)
    return step, attempt


def _following(session: Session, rows: RunRows, terms: Terms, now: datetime) -> Start | End | Busy:
    if rows.run.cancelled_by:
        return End(RunState.CANCELLED, None, f"cancelled by {rows.run.cancelled_by}")
    following = ready(terms.workflow.steps, ledger.own(rows), ledger.looked_at(rows, terms.workflow))
    if not isinstance(following, Start):
        return following
    if (reason := exceeded(terms.budget, Spent.of(rows.attempts))) is not None:
        return End(RunState.BUDGET_EXCEEDED, following.step, reason)
    if spending.spent(session, now - timedelta(days=1)) >= terms.usd_day:
        reason = f"the instance's ceiling of ${terms.usd_day:g} in 24 hours is reached"
        return End(RunState.BUDGET_EXCEEDED, following.step, reason)
    if terms.budget.minutes is not None and rows.run.started_at is not None:
        until = rows.run.started_at + timedelta(minutes=terms.budget.minutes)
        if now >= until:
            return End(RunState.TIMED_OUT, following.step, f"its {terms.budget.minutes:g} minutes are over")
    return following


def record(session: Session, begun: Begun, outcome: Outcome, terms: Terms, now: datetime) -> Begun | None:
    """Record an outcome with all that follows from it; returns the next attempt, already recorded as running."""
    rows = runs.rows(session, begun.attempt.run_id)
    attempt = next(each for each in rows.attempts if each.id == begun.attempt.id)
    if attempt.state is AttemptState.RUNNING:
        ledger.settle(session, rows, terms.workflow, begun.step, attempt, outcome, now)
        _charge(session, begun, outcome, now)
        session.flush()
        _said(session, rows, begun.step, attempt, terms)
    return _advance(session, rows, terms, now)


def _said(session: Session, rows: RunRows, step: Step, attempt: Attempt, terms: Terms) -> None:
    if attempt.state is AttemptState.SUCCESS and step.publish is True:
        terms.say_step(session, rows, step, attempt)


def _charge(session: Session, begun: Begun, outcome: Outcome, now: datetime) -> None:
    if not outcome.usage.requests:
        return
    thread, dispatch = begun.rows.thread, begun.rows.dispatch
    session.add(
        Spend(
            installation_id=thread.installation_id,
            repository_id=thread.repository_id,
            thread_id=thread.id,
            actor_id=dispatch.actor_id,
            run_id=begun.rows.run.id,
            model=getattr(outcome, "model", ""),
            input_tokens=outcome.usage.input_tokens,
            output_tokens=outcome.usage.output_tokens,
            cost=outcome.usage.cost,
            at=now,
        )
    )


def attach(session: Session, attempt_id: str, prompt: bytes, manifest: dict[str, object], now: datetime) -> None:
    """Keep what an agent is about to be given, before the model is called."""
    attempt = session.get_one(Attempt, attempt_id)
    attempt.prompt_blob = snapshots.put_blob(session, prompt, now)
    attempt.manifest = manifest
    session.add(attempt)


def keep_thread(session: Session, run_id: str, data: bytes, now: datetime) -> None:
    """Keep the thread as read for this run's anchor: every step sees the same, also after a crash."""
    run = session.get_one(Run, run_id)
    run.thread_blob = snapshots.put_blob(session, data, now)
    session.add(run)


def finish(session: Session, rows: RunRows, end: End, say: Say, now: datetime) -> None:
    """End a run: its state, its dispatch's, and what is said about it."""
    run = rows.run
    run.state = follow(run.state, end.state)
    run.reason, run.ended_at = end.reason, now
    run.lease_owner = run.lease_until = None
    dispatch = session.get_one(Dispatch, run.dispatch_id)
    if dispatch.state is DispatchState.QUEUED:
        dispatch.state = follow(dispatch.state, DispatchState.STARTED)
    ends = {RunState.CANCELLED: DispatchState.CANCELLED, RunState.SET_ASIDE: DispatchState.SET_ASIDE}
    dispatch.state = follow(dispatch.state, ends.get(end.state, DispatchState.DONE))
    dispatch.reason = end.reason
    session.add_all([run, dispatch])
    session.flush()
    say(session, rows, end)
    ring(session, "queue")


def abandon(session: Session, run_id: str, say: Say, now: datetime, *, cancelled: bool) -> None:
    """The work on a run was called off: by a person (it ends), or because this process stops (it is handed back)."""
    rows = runs.rows(session, run_id)
    if rows.run.state is not RunState.RUNNING:
        return
    state = AttemptState.CANCELLED if cancelled else AttemptState.INTERRUPTED
    for attempt in rows.attempts:
        if attempt.state is AttemptState.RUNNING:
            attempt.state = follow(attempt.state, state)
            attempt.ended_at = now
            attempt.error = {"code": "cancelled" if cancelled else "stopped", "message": "called off"}
            session.add(attempt)
    session.flush()
    if cancelled:
        finish(session, rows, End(RunState.CANCELLED, None, f"cancelled by {rows.run.cancelled_by}"), say, now)
    else:
        runs.release(session, rows.run, now)


def postpone(session: Session, run_id: str, error: Transient, say: Say, now: datetime) -> None:
    """GitHub gave no answer that the start needs: try again soon, and fail 15 minutes after it first tried to start."""
    rows = runs.rows(session, run_id)
    if rows.run.state is not RunState.RUNNING:
        return
    # not since it was queued: it may have waited for the runs before it
    if now - (rows.run.started_at or rows.run.queued_at) >= PATIENCE:
        fail(session, run_id, Failed("github_unavailable", f"GitHub did not answer: {error}"), say, now)
    else:
        runs.release(session, rows.run, now, now + timedelta(seconds=max(5.0, error.retry_after or 0.0)))


def fail(session: Session, run_id: str, failure: Failed, say: Say, now: datetime) -> None:
    """End a run that cannot go on for a reason outside its steps (configuration gone, a bug of ours)."""
    rows = runs.rows(session, run_id)
    if rows.run.state is not RunState.RUNNING:
        return
    for attempt in rows.attempts:
        if attempt.state is AttemptState.RUNNING:
            ledger.keep_outcome(session, attempt, failure, now)
            attempt.state = follow(attempt.state, AttemptState.FAIL)
    session.flush()
    finish(session, rows, End(RunState.FAILED, None, f"{failure.code}: {failure.message}"), say, now)
