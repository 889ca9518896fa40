"""What the end of an attempt leaves beside its outcome: what it says, what it cost, and what may be forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bot.engine.frames import Level
from bot.engine.route import FAIL
from bot.engine.terms import Terms
from bot.model.outcome import Outcome
from bot.model.state import AttemptState
from bot.store import Session, run_context
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Spend
from bot.workflows.routing import END


def said(session: Session, rows: RunRows, terms: Terms, level: Level, attempt: Attempt) -> None:
    """Post what a step that succeeded posts at its end, unless others run beside it: then the join does."""
    _forget(session, level)
    step = level.step(attempt.step)
    if attempt.state is AttemptState.SUCCESS and step.publish is True and not level.deferred:
        terms.say_step(session, rows, level, step, attempt)


def said_inside(session: Session, rows: RunRows, terms: Terms, levels: Iterable[Level]) -> None:
    """What waited for its turn beside others, in declared order."""
    for level in levels:
        for one in (level, *level.below()):
            for attempt in one.attempts if one.deferred else ():
                step = one.step(attempt.step)
                if attempt.state is AttemptState.SUCCESS and step.publish is True:
                    terms.say_step(session, rows, one, step, attempt)


def _forget(session: Session, level: Level) -> None:
    """An element that is over is only its result: what was written in it is not read again."""
    for one in level.lineage():
        if one.is_element and one.attempts[-1].state.ended and one.attempts[-1].route.get("to") in (END, FAIL):
            for frame in (one, *one.below()):
                frame.frame.cursor = run_context.OVER
                session.add(frame.frame)


def charge(session: Session, rows: RunRows, outcome: Outcome, now: datetime) -> None:
    """Enter what a model's answer cost."""
    if not outcome.usage.requests:
        return
    thread, dispatch = rows.thread, rows.dispatch
    session.add(
        Spend(
            installation_id=thread.installation_id,
            repository_id=thread.repository_id,
            thread_id=thread.id,
            actor_id=dispatch.actor_id,
            run_id=rows.run.id,
            model=getattr(outcome, "model", ""),
            input_tokens=outcome.usage.input_tokens,
            output_tokens=outcome.usage.output_tokens,
            cost=outcome.usage.cost,
            at=now,
        )
    )
