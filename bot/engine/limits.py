"""What bounds a start: the run's budget and time, the instance's day, budgets and time-outs of what is around it."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.engine.budget import Spent, exceeded
from bot.engine.frames import Level
from bot.engine.graph import End
from bot.engine.terms import Terms
from bot.model.outcome import Failed
from bot.model.state import RunState
from bot.store import Session, spending
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import Step
from bot.workflows.base_step import WorkingStep


def bound(session: Session, rows: RunRows, terms: Terms, step: str, now: datetime) -> End | None:
    """Why the run may not start another attempt; None if it may."""
    if (reason := exceeded(terms.budget, Spent.of(rows.attempts))) is not None:
        return End(RunState.BUDGET_EXCEEDED, step, reason)
    if spending.spent(session, now - timedelta(days=1)) >= terms.usd_day:
        reason = f"the instance's ceiling of ${terms.usd_day:g} in 24 hours is reached"
        return End(RunState.BUDGET_EXCEEDED, step, reason)
    if terms.budget.minutes is not None and rows.run.started_at is not None:
        # the time of people is not the run's
        until = rows.run.started_at + timedelta(seconds=rows.run.waited, minutes=terms.budget.minutes)
        if now >= until:
            return End(RunState.TIMED_OUT, step, f"its {terms.budget.minutes:g} minutes are over")
    return None


def _around(level: Level) -> list[tuple[WorkingStep, Attempt, Level]]:
    """The steps that a frame is in, each with its attempt and that attempt's frame, innermost first."""
    found = []
    for one in level.lineage():
        if one.parent is None or one.owner is None:
            continue
        opener = next(each for each in one.parent.attempts if each.id == one.frame.attempt_id)
        found.append((one.owner, opener, one.parent))
    return found


def late(level: Level, step: Step, now: datetime) -> Failed | None:
    """The failure of a start within a step whose time is over."""
    for owner, opener, _ in _around(level):
        if owner.each is None and owner.own_timeout is not None and now >= _deadline(owner, opener):
            message = f"`{owner.id}` did not end within {owner.own_timeout:g} s, so `{step.id}` did not start"
            return Failed("timeout", message, f"Raise `timeout` in `{owner.mark}`.")
    return None


def seconds(level: Level, now: datetime) -> float | None:
    """What the steps around leave of their time; None where none sets one."""
    ends = [
        _deadline(owner, opener)
        for owner, opener, _ in _around(level)
        if owner.each is None and owner.own_timeout is not None
    ]
    return max(0.0, (min(ends) - now).total_seconds()) if ends else None


def _deadline(owner: WorkingStep, opener: Attempt) -> datetime:
    return opener.started_at + timedelta(seconds=owner.own_timeout or 0.0)


def step_bound(level: Level, step: Step) -> Failed | None:
    """The failure of a start within a step whose own budget is spent."""
    for owner, opener, parent in _around(level):
        if owner.own_budget is None:
            continue
        inside = [one for opened in (parent.children.get(opener.id, []),) for one in opened]
        attempts = [each for one in inside for frame in (one, *one.below()) for each in frame.attempts]
        if (reason := exceeded(owner.own_budget, Spent.of(attempts))) is not None:
            hint = f"Raise `budget` of `{owner.id}` in `{owner.mark}`."
            return Failed("budget_exceeded", f"`{owner.id}`: {reason}, so `{step.id}` did not start", hint)
    return None
