"""One step further: applies what a survey of the run's frames allows, until only work or waiting is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from time import monotonic
from typing import Any

from bot.engine import gates, gating, limits
from bot.engine.ending import finish, withdraw
from bot.engine.evidence import exported
from bot.engine.frames import Level, Tree
from bot.engine.graph import End, Start
from bot.engine.join import joined, so_far
from bot.engine.judge import judged
from bot.engine.ledger import Ledger
from bot.engine.opening import lacks_files, opened, opens, repeated
from bot.engine.pausing import Pausing
from bot.engine.rendering import rendering
from bot.engine.route import admits
from bot.engine.said import charge, said, said_inside
from bot.engine.survey import Join, Survey, survey
from bot.engine.terms import Begun
from bot.engine.trials import writes
from bot.model.ident import new_id
from bot.model.outcome import Done, Failed, Faulted, Outcome, Wait
from bot.model.state import AttemptState, DispatchState, RunState, follow
from bot.model.trial import NOTE
from bot.store import objects, runs
from bot.store.gates import ASKED
from bot.store.tables import Attempt, Run
from bot.workflows import Step
from bot.workflows.base_step import WorkingStep
from bot.workflows.step import AskStep, GroupStep, RoutingStep, UsesStep, WaitStep
from bot.workspace.staging import StagedFile


@dataclass(frozen=True, slots=True)
class Advance:
    """What is to be performed now, recorded as running; and when to look again though nothing of it has ended.

    `more`: not everything was applied, so look again at once. `over` is the run where it has ended.
    """

    begun: tuple[Begun, ...] = ()
    wake: datetime | None = None
    more: bool = False
    over: Run | None = None

    @classmethod
    def together(cls, advances: Iterable[Advance]) -> Advance:
        """What several led to. Which of them is the newest is not known: the earliest says when to look again."""
        each = tuple(advances)
        begun = tuple(one for advance in each for one in advance.begun)
        wake = min((advance.wake for advance in each if advance.wake is not None), default=None)
        over = next((advance.over for advance in each if advance.over is not None), None)
        return cls(begun, wake, any(advance.more for advance in each), over)


class Advancing(Pausing):
    """Drives the rows of one run on, within one transaction."""

    def go(self, hold: float = inf) -> Advance:
        """Apply everything that needs nobody's work; what does is recorded as running and returned.

        After `hold` seconds it stops with `more`: others want to write too.
        """
        rows = self._rows
        wake: datetime | None = None
        until = monotonic() + hold
        while rows.run.state is RunState.RUNNING:
            tree = self.tree()
            ledger = self._ledger(tree)
            found = survey(tree, rows, ledger.look, self._now)
            wake = found.wake
            end = self._end(tree, found)
            if end is not None:
                # those under way end first, and nothing new begins
                if not found.running:
                    finish(self._session, rows, end, self._terms.say, self._now)
                break
            if not self._moved(tree, ledger, found):
                self._rest(found)
                break
            if monotonic() >= until:
                return Advance(tuple(self._begun), more=True)
        return Advance(tuple(self._begun), wake, over=rows.run if rows.run.state.ended else None)

    def settle(
        self,
        level: Level,
        attempt: Attempt,
        outcome: Outcome,
        files: Mapping[str, bytes] | None = None,
        given: Sequence[StagedFile] = (),
        head: str | None = None,
    ) -> None:
        """Record what an attempt came to, what it cost, and what it wants done.

        `files` are those that it produced, `given` those that a workflow is given which begins now; `head` is the
        commit that a step has read which asks people.
        """
        step = level.step(attempt.step)
        if isinstance(step, AskStep) and isinstance(outcome, Done | Faulted):
            self._looked(level, step, attempt, outcome, head)
            return
        tree = self.tree()
        if isinstance(step, UsesStep) and isinstance(outcome, Done):
            # it has read the files of its workflow, and that is all that was to be performed
            values = rendering(self._session, self._rows, tree, level, step, attempt)
            self._open(tree, level, step, attempt, values, given)
            return
        charge(self._session, self._rows, outcome, self._now)
        if isinstance(outcome, Wait):
            self._wait(level, attempt, outcome)
            return
        self._ledger(tree).settle(level, step, attempt, outcome, files)
        if isinstance(outcome, Done) and outcome.intents and attempt.state is AttemptState.SUCCESS:
            self._terms.intend(self._session, self._rows, level, attempt, outcome.intents, False)
        said(self._session, self._rows, self._terms, level, attempt)

    # -- ends ---------------------------------------------------------------------------------------------------------

    def _end(self, tree: Tree, found: Survey) -> End | None:
        rows = self._rows
        if rows.run.cancelled_by:
            return End(RunState.CANCELLED, None, rows.run.reason or f"cancelled by {rows.run.cancelled_by}")
        if found.end is not None:
            lacking = exported(rows, tree.root, self._terms.result_bytes)
            if found.end.state is RunState.SUCCEEDED and lacking.code:
                return End(RunState.FAILED, None, f"{lacking.code}: {lacking.message}", lacking.hint)
            return found.end
        for level, start in found.starts:
            if start.skip or isinstance(level.step(start.step), RoutingStep):
                continue  # it costs nothing, and may be all that is left
            if (end := limits.bound(self._session, rows, self._terms, start.step, self._now)) is not None:
                return end
        return None

    # -- moves --------------------------------------------------------------------------------------------------------

    def _moved(self, tree: Tree, ledger: Ledger, found: Survey) -> bool:
        """Apply the first thing that may be done now; another reading of the rows follows."""
        if found.overdue:
            self._overdue(tree, *found.overdue[0])
            return True
        if found.joins:
            self._join(tree, ledger, found.joins[0])
            return True
        if found.resumes:
            self._resume(tree, found.resumes[0])
            return True
        if found.reminders:
            gating.remind(self._session, self._rows, self._terms, found.reminders[0].gate, self._now)
            return True
        return any(not self._begin(tree, ledger, level, start) for level, start in found.starts)

    def _begin(self, tree: Tree, ledger: Ledger, level: Level, start: Start) -> bool:
        """Record a start. False where it was over at once or opened frames, so that the rows have to be read again."""
        step = level.step(start.step)
        if self._rows.dispatch.trial and not start.skip and writes(step):
            start = replace(start, skip=True, notes=(*start.notes, NOTE))
        attempt = self._attempt(level, step, start)
        if start.skip or isinstance(step, RoutingStep):
            ledger.pass_by(level, step, attempt, start)
            said(self._session, self._rows, self._terms, level, attempt)
            return False
        if start.refused:
            hint = "See what it did, and start it again if it did not."
            told = "the process died while it ran; it may have reached others, so it is not repeated"
            self.settle(level, attempt, Failed("interrupted", told, hint))
            return False
        late = limits.late(level, step, self._now)
        if late is not None:
            self.settle(level, attempt, late)
            return False
        if (spent := limits.step_bound(level, step)) is not None:
            self.settle(level, attempt, spent)
            return False
        values = rendering(self._session, self._rows, tree, level, step, attempt)
        if opens(step) and not lacks_files(level, step, values, self._terms.find):
            self._open(tree, level, step, attempt, values)
            return False
        if isinstance(step, (AskStep, WaitStep)) and not gates.looks(step, self._terms, self._rows.thread):
            self.settle(level, attempt, gates.asked(step, values, self._now))
            return False
        seconds = limits.seconds(level, self._now)
        self._begun.append(Begun(step, attempt, self._rows, tree, level, seconds=seconds))
        return True

    def _open(
        self,
        tree: Tree,
        level: Level,
        step: Step,
        attempt: Attempt,
        values: Mapping[str, Any],
        given: Sequence[StagedFile] = (),
    ) -> None:
        """Open the frames of an attempt; `values` are those of its templates, `given` was read for what it uses."""
        assert isinstance(step, WorkingStep)
        over = opened(self._session, self._rows, level, step, attempt, values, self._terms.find, self._now, given)
        if over is not None:
            notes = [f"`each.over` of `{step.id}` has no element"] if isinstance(over, Done) else []
            self._ledger(tree).settle(level, step, attempt, over, notes=notes)
            self._session.flush()
            said(self._session, self._rows, self._terms, level, attempt)
            return
        attempt.state = follow(attempt.state, AttemptState.WAITING)
        self._session.add(attempt)

    def _attempt(self, level: Level, step: Step, start: Start) -> Attempt:
        rows = self._rows
        # what has a default by a function is given here: it is looked into anew for every row, which takes long
        attempt = Attempt(
            id=new_id(),
            error={},
            route={},
            streams={},
            run_id=rows.run.id,
            frame_id=level.frame.id,
            step=step.id,
            kind=step.kind,
            number=start.number,
            iteration=start.iteration,
            started_at=self._now,
        )
        objects.add(self._session, attempt)
        first = rows.dispatch.state is DispatchState.QUEUED
        if first:
            rows.dispatch.state = follow(rows.dispatch.state, DispatchState.STARTED)
            objects.save(self._session, rows.dispatch)
        rows.attempts.append(attempt)
        level.attempts.append(attempt)
        if first:
            self._terms.started(self._session, rows)
        return attempt

    def _join(self, tree: Tree, ledger: Ledger, join: Join) -> None:
        level, attempt = join.level, join.attempt
        step = level.step(attempt.step)
        assert isinstance(step, WorkingStep)
        outcome: Outcome = joined(join, self._rows, self._terms.result_bytes)
        onward: str | None = None
        if isinstance(step, GroupStep) and step.own_loop is not None and not join.ends[0][0].is_element:
            loop, last = step.own_loop, join.ends[0][0]
            until, _ = admits(loop.condition, ledger.look(last, last.attempts[-1].step))
            if loop.condition is not None and not until:
                if last.frame.iteration + 1 < loop.max:
                    repeated(self._session, self._rows, level, attempt, last.frame.iteration + 1)
                    return
                if loop.on_exhaust == "fail":
                    message = f"`{step.id}` ran {loop.max} times (`loop.max`) and `until` is still false"
                    own = outcome.message if isinstance(outcome, Failed) else ""
                    outcome = Failed("loop_exhausted", message, stderr=own, output=getattr(outcome, "output", None))
                elif loop.on_exhaust == "last":
                    outcome = so_far(last)
                else:
                    onward = loop.on_exhaust
        if not join.ends[0][0].is_element:
            outcome = judged(step, outcome, most=self._terms.result_bytes)
        assert not isinstance(outcome, Wait)
        ledger.settle(level, step, attempt, outcome, onward=onward)
        self._session.flush()
        if not level.deferred:
            said_inside(self._session, self._rows, self._terms, [level for level, _ in join.ends])
        said(self._session, self._rows, self._terms, level, attempt)

    def _overdue(self, tree: Tree, level: Level, attempt: Attempt) -> None:
        """The time of a step is over while people or events are waited for in it."""
        step = level.step(attempt.step)
        assert isinstance(step, WorkingStep)
        inside = {frame.frame.id for one in level.children.get(attempt.id, ()) for frame in (one, *one.below())}
        for gate in withdraw(self._session, self._rows, self._now, frames=inside):
            if gate.kind in ASKED:
                self._terms.ask(self._session, self._rows, gate)
        message = f"it did not end within {step.whole_time:g} s"
        hint = f"Raise `timeout` or the minutes of `budget` in `{step.mark}`."
        self._ledger(tree).settle(level, step, attempt, Failed("timeout", message, hint))
        self._session.flush()
        said(self._session, self._rows, self._terms, level, attempt)

    # -- rest ---------------------------------------------------------------------------------------------------------

    def _rest(self, found: Survey) -> None:
        """Nothing may be done now: the run is put away until it may, unless somebody works on it."""
        if found.running or self._begun:
            return
        if found.waiting:
            runs.wait(self._session, self._rows.run, self._now, found.wake)
        else:
            runs.release(self._session, self._rows.run, self._now, found.wake)
