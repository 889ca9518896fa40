"""An attempt's outcome as rows: its own columns, what it put into the run context, and the route that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from bot.engine import evidence
from bot.engine.episode import episodes
from bot.engine.frames import Level, Tree
from bot.engine.graph import Start, Walk, reason, used_up
from bot.engine.rendering import rendering
from bot.engine.route import Ended, Route, RouteFault, Scope, route
from bot.engine.scope import OUTCOMES, condition_scope, context_of, cut
from bot.engine.terms import Terms
from bot.engine.values import LABEL, storable, written
from bot.model.ident import new_id
from bot.model.outcome import Done, Failed, Faulted, Wait
from bot.model.state import AttemptState, follow
from bot.store import Session, objects, run_context, snapshots
from bot.store.run_context import Written
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import Step
from bot.workflows.base_step import WorkingStep
from bot.workflows.step import EndStep, SwitchStep


class Ledger:
    """Writes the outcomes of one run's attempts, within one transaction and against one reading of its frames."""

    def __init__(self, session: Session, rows: RunRows, tree: Tree, terms: Terms, now: datetime) -> None:
        self._session, self._rows, self._tree, self._terms, self._now = session, rows, tree, terms, now

    def look(self, level: Level, step: str | None = None) -> Scope:
        """What conditions look at now, put together when the first of them asks."""

        @cache
        def values() -> Mapping[str, Any]:
            return condition_scope(self._rows, level, context_of(self._rows, self._tree, level), step)

        return values

    def settle(
        self,
        level: Level,
        step: Step,
        attempt: Attempt,
        outcome: Done | Failed | Faulted,
        files: Mapping[str, bytes] | None = None,
        *,
        said: str = "",
        onward: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Record what a step came to. A `decide` that leads nowhere makes it a failure.

        `files` are those that it produces, by id; `said` is what a person gave as a reason; `onward` where it goes on
        whatever its routes say; `notes` are for the record.
        """
        walk = Walk.of(level.attempts)
        if isinstance(outcome, Faulted):
            if not used_up(step, walk, outcome, self._now):
                keep_outcome(self._session, attempt, outcome, self._now)
                attempt.state = follow(attempt.state, AttemptState.TRANSIENT)
                return
            message, usage, hint = outcome.message, outcome.usage, "Try again later."
            if outcome.outage:
                outcome = Failed("github_unavailable", f"GitHub did not answer: {message}", hint, usage=usage)
            else:
                outcome = Failed("transient", message, hint, usage=usage)
        try:
            self._settle(level, step, attempt, outcome, walk, said, onward, notes)
        except RouteFault as fault:
            self._settle(level, step, attempt, _instead(fault, outcome), walk, said, None, notes)
        if attempt.state is AttemptState.SUCCESS:
            evidence.register(self._session, self._rows, level, step, attempt, files or {}, self._now)
        if attempt.route.get("why") == "rework":
            evidence.outdate(self._session, self._rows, level, attempt)
        evidence.publish(self._session, self._rows, level, self._now, self._terms.result_bytes)

    def _settle(
        self,
        level: Level,
        step: Step,
        attempt: Attempt,
        outcome: Done | Failed,
        walk: Walk,
        said: str,
        onward: str | None,
        notes: Sequence[str],
    ) -> None:
        rows = self._rows
        before, known = attempt.state, len(rows.values)
        keep_outcome(self._session, attempt, outcome, self._now)
        state = AttemptState.SUCCESS if isinstance(outcome, Done) else AttemptState.FAIL
        attempt.state = follow(before, state)
        values = written(step, outcome, OUTCOMES[state])
        if step.kind == "agent":
            values |= episodes(outcome.episode, attempt, rows.values)
        self._write(attempt, values)
        told = said or reason(attempt.error)
        ended = Ended(state, attempt.error.get("code", ""), told, attempt.output or "", values.get(LABEL, ""))
        try:
            taken = (
                route(level.steps, step, ended, walk.taken, self.look(level, step.id))
                if onward is None
                else Route(onward, "exhausted")
            )
        except RouteFault:
            del rows.values[known:]
            attempt.state = before
            raise
        rework = step.rework if isinstance(step, WorkingStep) else None
        if taken.why == "rework" and rework is not None and rework.comments_as is not None:
            self._write(attempt, {rework.comments_as: taken.reason})
        attempt.route = replace(taken, notes=(*notes, *taken.notes)).to_row()
        objects.save(self._session, attempt)
        run_context.keep(self._session, rows.values[known:])

    def pass_by(self, level: Level, step: Step, attempt: Attempt, start: Start) -> None:
        """Record a step that needs nobody's work: one that is skipped, a `switch`, an `end`."""
        rows = self._rows
        walk, known, notes = Walk.of(level.attempts), len(rows.values), start.notes
        # its conditions look at what the step before it came to
        look = self.look(level)
        outcome = Done()
        state = AttemptState.SKIPPED if start.skip else AttemptState.SUCCESS
        if isinstance(step, EndStep) and not start.skip and step.end.text is not None:
            values = rendering(self._session, rows, self._tree, level, step, attempt)
            rendered = step.end.text.render(values)
            outcome, notes = Done(rendered.text), (*notes, *rendered.warnings)
        taken = route(level.steps, step, Ended(state, message=outcome.output or ""), walk.taken, look)
        if isinstance(step, SwitchStep) and not start.skip:
            outcome = Done(result=taken.to)
        keep_outcome(self._session, attempt, outcome, self._now)
        attempt.state = follow(attempt.state, state)
        attempt.route = replace(taken, notes=(*notes, *taken.notes)).to_row()
        self._write(attempt, written(step, outcome, OUTCOMES[state]))
        objects.save(self._session, attempt)
        run_context.keep(self._session, rows.values[known:])

    def _write(self, attempt: Attempt, values: Mapping[str, str]) -> None:
        self._rows.values.extend(
            Written(
                id=new_id(),
                run_id=attempt.run_id,
                frame_id=attempt.frame_id,
                attempt_id=attempt.id,
                step=attempt.step,
                key=key,
                text=storable(text),
            )
            for key, text in values.items()
        )


def _instead(fault: RouteFault, outcome: Done | Failed) -> Failed:
    """The failure of a step whose `decide` leads nowhere: what it said and cost stays."""
    return Failed(
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
        outcome.episode,
    )


def keep_outcome(session: Session, attempt: Attempt, outcome: Done | Failed | Faulted | Wait, now: datetime) -> None:
    """The attempt's own columns, without its state."""
    attempt.error = {}
    if not isinstance(outcome, Wait):
        attempt.ended_at = now
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
            if outcome.outage:
                attempt.error["outage"] = "true"
            if outcome.retry_after is not None:
                attempt.error["retry_after"] = str(outcome.retry_after)
            if outcome.kept:
                attempt.streams = {"kept": snapshots.put_blob(session, outcome.kept, now)}
    if isinstance(outcome, Done | Failed):
        attempt.exit_code, attempt.model = outcome.exit_code, outcome.model or attempt.model
        attempt.output = None if outcome.output is None else cut(outcome.output)
        texts = {"output": outcome.output or "", "stdout": outcome.stdout, "stderr": outcome.stderr}
        attempt.streams = {
            name: snapshots.put_blob(session, text.encode("utf-8", "replace"), now)
            for name, text in texts.items()
            if text
        }
    # an attempt that waited has spent something before
    attempt.input_tokens += outcome.usage.input_tokens
    attempt.output_tokens += outcome.usage.output_tokens
    attempt.requests += outcome.usage.requests
    if outcome.usage.cost is not None:
        attempt.cost = (attempt.cost or 0.0) + outcome.usage.cost
    session.add(attempt)
