"""What of a whole run may be done now, in every frame: a pure function of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.engine.frames import Level, Tree
from bot.engine.graph import Busy, End, Next, Start, ready
from bot.engine.route import Scope
from bot.model.state import AttemptState, GateState, OutboxState, RunState
from bot.store.due import is_due
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Gate
from bot.workflows.base_step import WorkingStep
from bot.workflows.step import GroupStep

#: ends of a frame that are ends of the run, whatever is around it
_WHOLE = frozenset({RunState.CANCELLED, RunState.TIMED_OUT, RunState.SET_ASIDE, RunState.BUDGET_EXCEEDED})


@dataclass(frozen=True, slots=True)
class Join:
    """An attempt whose frames are over: `ends` say how each that was begun ended, in declared order."""

    level: Level
    attempt: Attempt
    ends: tuple[tuple[Level, End], ...]


@dataclass(frozen=True, slots=True)
class Resume:
    """An attempt that waited and need not wait any more."""

    level: Level
    attempt: Attempt
    gate: Gate


@dataclass(slots=True)
class Survey:
    """Everything that may be done now. `end` is the run's, and holds only when nothing is `running`.

    `wake` is when something that waits for a time may go on; `waiting` whether people or events are waited for.
    """

    starts: list[tuple[Level, Start]] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    resumes: list[Resume] = field(default_factory=list)
    #: gates whose half time has come
    reminders: list[Resume] = field(default_factory=list)
    #: attempts whose time is over while something is waited for in them
    overdue: list[tuple[Level, Attempt]] = field(default_factory=list)
    running: int = 0
    waiting: bool = False
    wake: datetime | None = None
    end: End | None = None

    def wait_until(self, at: datetime | None) -> None:
        """Note a time at which to look again."""
        if at is not None and (self.wake is None or at < self.wake):
            self.wake = at


def survey(tree: Tree, rows: RunRows, scope_of: Callable[[Level], Scope], now: datetime) -> Survey:
    """Look at every open frame. The same rows at the same time always give the same answer."""
    return _Surveyor(tree, rows, scope_of, now).look()


class _Surveyor:
    def __init__(self, tree: Tree, rows: RunRows, scope_of: Callable[[Level], Scope], now: datetime) -> None:
        self._tree, self._scope_of, self._now = tree, scope_of, now
        self._gates = {gate.attempt_id: gate for gate in rows.gates}
        self._posts = rows.posts
        self._progress = max((each.id for each in rows.attempts if each.state is AttemptState.SUCCESS), default="")
        self._found = Survey()

    def look(self) -> Survey:
        following = self._visit(self._tree.root)
        if isinstance(following, End):
            self._found.end = following
        return self._found

    def _visit(self, level: Level) -> Next:
        following = ready(level.steps, level.attempts, self._scope_of(level), self._progress)
        match following:
            case Start():
                if is_due(following.not_before, self._now):
                    self._found.starts.append((level, following))
                else:
                    self._found.wait_until(following.not_before)
            case Busy():
                last = level.attempts[-1]
                if last.state is AttemptState.RUNNING:
                    self._found.running += 1
                elif opened := level.children.get(last.id):
                    self._within(level, last, opened)
                else:
                    self._gate(level, last)
            case End() if following.state in _WHOLE:
                self._found.end = following
        return following

    def _within(self, level: Level, attempt: Attempt, opened: Sequence[Level]) -> None:
        """The frames of an attempt: those that go on, those that may begin, or the end of all of them."""
        step = level.step(attempt.step)
        assert isinstance(step, WorkingStep)
        each = step.each if opened[0].is_element else None
        if each is None and isinstance(step, GroupStep):
            opened = opened[-1:]  # the repetition under way
        at_once = step.concurrency if each is not None else len(opened)
        stops = each is not None and each.on_error == "fail"
        running = self._found.running
        ends: list[tuple[Level, End]] = []
        under_way, failed = 0, False
        for child in opened:
            if not child.attempts:
                continue
            following = self._visit(child)
            if isinstance(following, End):
                ends.append((child, following))
                failed = failed or following.state is not RunState.SUCCEEDED
            else:
                under_way += 1
        for child in opened:
            if child.attempts:
                continue
            if under_way >= at_once or (failed and stops):
                break
            following = self._visit(child)
            under_way += 1
        if under_way and step.whole_time is not None:
            deadline = attempt.started_at + timedelta(seconds=step.whole_time)
            self._found.wait_until(deadline)
            if deadline <= self._now and self._found.running == running:
                self._found.overdue.append((level, attempt))
        if not under_way:
            order = {id(child): place for place, child in enumerate(opened)}
            ends.sort(key=lambda pair: order[id(pair[0])])
            self._found.joins.append(Join(level, attempt, tuple(ends)))

    def _gate(self, level: Level, attempt: Attempt) -> None:
        gate = self._gates.get(attempt.id)
        assert gate is not None, "an attempt that waits has frames or a gate"
        due = gate.deadline is not None and gate.deadline <= self._now
        if gate.kind == "posts":
            rows = self._posts.get(attempt.id, [])
            done = all(row.state in (OutboxState.POSTED, OutboxState.DROPPED) for row in rows)
            due = due or done
        if attempt.not_before is not None and attempt.not_before > self._now:
            self._found.waiting = True  # nobody could tell whether the answer still counts
            self._found.wait_until(attempt.not_before)
        elif gate.state is not GateState.OPEN or due:
            self._found.resumes.append(Resume(level, attempt, gate))
        else:
            self._found.waiting = True
            self._found.wait_until(gate.deadline)
            if gate.remind_at is not None and gate.reminded_at is None:
                self._found.wait_until(gate.remind_at)
                if gate.remind_at <= self._now:
                    self._found.reminders.append(Resume(level, attempt, gate))
