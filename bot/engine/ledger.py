"""An attempt's outcome as rows: its own columns, what it put into the run context, and the route that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from bot.engine.graph import Start, Walk, reason, used_up
from bot.engine.route import Ended, RouteFault, Scope, route
from bot.engine.scope import OUTCOMES, condition_scope, cut, scope
from bot.engine.values import RunContext, storable, written
from bot.model.outcome import Done, Failed, Faulted, Outcome, Wait
from bot.model.state import AttemptState, follow
from bot.store import Session, snapshots
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Value
from bot.workflows import Step, Workflow
from bot.workflows.base_step import WorkingStep
from bot.workflows.step import EndStep, SwitchStep


def own(rows: RunRows) -> list[Attempt]:
    """The attempts of the root frame, in the order they were made."""
    return [attempt for attempt in rows.attempts if attempt.frame_id == rows.root.id]


def looked_at(rows: RunRows, workflow: Workflow, step: str | None = None) -> Scope:
    """What conditions look at now, put together when the first of them asks."""

    @cache
    def values() -> Mapping[str, Any]:
        return condition_scope(rows, workflow, RunContext.of(rows.values, workflow.goal), step)

    return values


def settle(
    session: Session, rows: RunRows, workflow: Workflow, step: Step, attempt: Attempt, outcome: Outcome, now: datetime
) -> None:
    """Record what a step that ran came to. A `decide` that leads nowhere makes it a failure."""
    walk = Walk.of(own(rows))
    if isinstance(outcome, Faulted):
        if not used_up(step, walk):
            keep_outcome(session, attempt, outcome, now)
            attempt.state = follow(attempt.state, AttemptState.TRANSIENT)
            return
        outcome = Failed("transient", outcome.message, "Try again later.", usage=outcome.usage)
    if isinstance(outcome, Wait):
        raise TypeError(f"a step of kind {step.kind} waits for nothing")
    try:
        _settle(session, rows, workflow, step, attempt, outcome, walk, now)
    except RouteFault as fault:
        failed = Failed(
            fault.code,
            fault.message,
            fault.hint,
            outcome.output,
            outcome.exit_code,
            outcome.stdout,
            outcome.stderr,
            outcome.usage,
            outcome.model,
            outcome.writes,
        )
        _settle(session, rows, workflow, step, attempt, failed, walk, now)


def _settle(
    session: Session,
    rows: RunRows,
    workflow: Workflow,
    step: Step,
    attempt: Attempt,
    outcome: Done | Failed,
    walk: Walk,
    now: datetime,
) -> None:
    before, known = attempt.state, len(rows.values)
    keep_outcome(session, attempt, outcome, now)
    state = AttemptState.SUCCESS if isinstance(outcome, Done) else AttemptState.FAIL
    attempt.state = follow(before, state)
    _write(rows, attempt, written(step, outcome, OUTCOMES[state]))
    ended = Ended(state, attempt.error.get("code", ""), reason(attempt.error), attempt.output or "")
    try:
        taken = route(workflow.steps, step, ended, walk.taken, looked_at(rows, workflow, step.id))
    except RouteFault:
        del rows.values[known:]
        attempt.state = before
        raise
    rework = step.rework if isinstance(step, WorkingStep) else None
    if taken.why == "rework" and rework is not None and rework.comments_as is not None:
        _write(rows, attempt, {rework.comments_as: taken.reason})
    attempt.route = taken.to_row()
    session.add_all(rows.values[known:])


def settle_passed(
    session: Session, rows: RunRows, workflow: Workflow, step: Step, attempt: Attempt, start: Start, now: datetime
) -> None:
    """Record a step that needs nobody's work: one that is skipped, a `switch`, an `end`."""
    walk, known, notes = Walk.of(own(rows)), len(rows.values), start.notes
    # its conditions look at what the step before it came to
    look = looked_at(rows, workflow)
    outcome = Done()
    state = AttemptState.SKIPPED if start.skip else AttemptState.SUCCESS
    if isinstance(step, EndStep) and not start.skip and step.end.text is not None:
        rendered = step.end.text.render(scope(rows, workflow, attempt=attempt.number, iteration=attempt.iteration))
        outcome, notes = Done(rendered.text), (*notes, *rendered.warnings)
    taken = route(workflow.steps, step, Ended(state, message=outcome.output or ""), walk.taken, look)
    if isinstance(step, SwitchStep) and not start.skip:
        outcome = Done(result=taken.to)
    keep_outcome(session, attempt, outcome, now)
    attempt.state = follow(attempt.state, state)
    attempt.route = replace(taken, notes=(*notes, *taken.notes)).to_row()
    _write(rows, attempt, written(step, outcome, OUTCOMES[state]))
    session.add_all(rows.values[known:])
    session.flush()


def _write(rows: RunRows, attempt: Attempt, values: Mapping[str, str]) -> None:
    rows.values.extend(
        Value(
            run_id=attempt.run_id,
            frame_id=attempt.frame_id,
            attempt_id=attempt.id,
            step=attempt.step,
            key=key,
            text=storable(text),
        )
        for key, text in values.items()
    )


def keep_outcome(session: Session, attempt: Attempt, outcome: Outcome, now: datetime) -> None:
    """The attempt's own columns, without its state."""
    attempt.ended_at = now
    attempt.error = {}
    match outcome:
        case Done():
            attempt.result = outcome.result
        case Failed():
            attempt.result = None
            attempt.error = {
                "code": outcome.code,
                "message": outcome.message,
                "hint": outcome.hint,
                "detail": outcome.stderr,
            }
        case Faulted():
            attempt.error = {"code": "transient", "message": outcome.message}
            if outcome.retry_after is not None:
                attempt.error["retry_after"] = str(outcome.retry_after)
    if isinstance(outcome, Done | Failed):
        attempt.exit_code, attempt.model = outcome.exit_code, outcome.model
        attempt.output = None if outcome.output is None else cut(outcome.output)
        texts = {"output": outcome.output or "", "stdout": outcome.stdout, "stderr": outcome.stderr}
        attempt.streams = {
            name: snapshots.put_blob(session, text.encode("utf-8", "replace"), now)
            for name, text in texts.items()
            if text
        }
    attempt.input_tokens, attempt.output_tokens = outcome.usage.input_tokens, outcome.usage.output_tokens
    attempt.requests, attempt.cost = outcome.usage.requests, outcome.usage.cost
    session.add(attempt)
