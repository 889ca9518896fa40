"""What bounds a start: the run's budget and time, the instance's day, budgets and time-outs of what is around it."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.engine.budget import Spent, exceeded, left
from bot.engine.frames import Level
from bot.engine.graph import End
from bot.engine.terms import Terms
from bot.model.outcome import Failed
from bot.model.state import RunState
from bot.store import Session, spending
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import Budget, Step
from bot.workflows.base_step import WorkingStep


def bound(session: Session, rows: RunRows, terms: Terms, step: str, now: datetime) -> End | None:
    """Why the run may not start another attempt; None if it may."""
    if (reason := exceeded(terms.budget, Spent.of(rows.attempts))) is not None:
        return End(RunState.BUDGET_EXCEEDED, step, reason)
    if spending.day_is_spent(session, terms.usd_day, now):
        reason = f"the instance's ceiling of ${terms.usd_day:g} in 24 hours is reached"
        return End(RunState.BUDGET_EXCEEDED, step, reason)
    if terms.budget.minutes is not None and rows.run.worked(now) >= terms.budget.minutes * 60:
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
        time = owner.whole_time
        if time is not None and now >= opener.started_at + timedelta(seconds=time):
            key = "timeout" if time == owner.own_timeout else "minutes` of its `budget"
            message = f"`{owner.id}` did not end within {time:g} s, so `{step.id}` did not start"
            return Failed("timeout", message, f"Raise `{key}` in `{owner.mark}`.")
    return None


def seconds(level: Level, now: datetime) -> float | None:
    """What the steps around leave of their time; None where none sets one."""
    ends = [
        opener.started_at + timedelta(seconds=time)
        for owner, opener, _ in _around(level)
        if (time := owner.whole_time) is not None
    ]
    return max(0.0, (min(ends) - now).total_seconds()) if ends else None


def allowance(level: Level, attempt: Attempt) -> Budget:
    """What the budgets of the steps around leave to an attempt."""
    found = Budget()
    for owner, opener, parent in _around(level):
        if owner.own_budget is not None:
            others = [each for each in _inside(opener, parent) if each.id != attempt.id]
            found = found.within(left(owner.own_budget, Spent.of(others)))
    return found


def _inside(opener: Attempt, parent: Level) -> list[Attempt]:
    opened = parent.children.get(opener.id, [])
    return [each for one in opened for frame in (one, *one.below()) for each in frame.attempts]


def step_bound(level: Level, step: Step) -> Failed | None:
    """The failure of a start within a step whose own budget is spent."""
    for owner, opener, parent in _around(level):
        if owner.own_budget is None:
            continue
        if (reason := exceeded(owner.own_budget, Spent.of(_inside(opener, parent)))) is not None:
            hint = f"Raise `budget` of `{owner.id}` in `{owner.mark}`."
            return Failed("budget_exceeded", f"`{owner.id}`: {reason}, so `{step.id}` did not start", hint)
    return None
