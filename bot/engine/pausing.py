"""Where a run stops and goes on: attempts that wait for people, events, times or posts, and what ends their waiting."""

from __future__ import annotations

from datetime import datetime

from bot.engine import gates, gating, limits
from bot.engine.frames import Level, Tree
from bot.engine.judge import judged
from bot.engine.ledger import Ledger, keep_outcome
from bot.engine.posts import posted
from bot.engine.rendering import rendering
from bot.engine.said import said
from bot.engine.survey import Resume
from bot.engine.terms import Begun, Terms
from bot.model.outcome import Done, Failed, Faulted, Wait
from bot.model.state import AttemptState, GateState, follow
from bot.store import Session, runs, snapshots
from bot.store.answering import binds
from bot.store.gates import ASKED
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Gate
from bot.workflows import Step
from bot.workflows.step import AskStep, WaitStep


class Pausing:
    """The rows of one run within one transaction, as far as its waits go. `Advancing` drives all of it."""

    def __init__(self, session: Session, rows: RunRows, terms: Terms, now: datetime) -> None:
        self._session, self._rows, self._terms, self._now = session, rows, terms, now
        self._begun: list[Begun] = []
        self._tree = Tree.of(rows, terms.workflow, terms.find)
        self._frames = len(rows.frames)

    def tree(self) -> Tree:
        """The run's frames; put together anew where some were opened since."""
        if self._frames != len(self._rows.frames):
            self._tree = Tree.of(self._rows, self._terms.workflow, self._terms.find)
            self._frames = len(self._rows.frames)
        return self._tree

    def _ledger(self, tree: Tree) -> Ledger:
        return Ledger(self._session, self._rows, tree, self._terms, self._now)

    # -- waits --------------------------------------------------------------------------------------------------------

    def _wait(self, level: Level, attempt: Attempt, wait: Wait, head: str | None = None) -> None:
        keep_outcome(self._session, attempt, wait, self._now)
        gate = gating.put_up(self._session, self._rows, self._terms, attempt, wait, self._now, head)
        attempt.state = follow(attempt.state, AttemptState.WAITING)
        self._session.add(attempt)
        self._session.flush()
        if wait.intents:
            self._terms.intend(self._session, self._rows, level, attempt, wait.intents, True)
            self._rows.posts = runs.posts(self._session, attempt.run_id)
        if wait.what in ASKED:
            self._terms.ask(self._session, self._rows, gate)

    def _looked(self, level: Level, step: AskStep, attempt: Attempt, outcome: Done | Faulted, head: str | None) -> None:
        """The head was read that what people are asked is bound to, before it is asked or after it was answered."""
        gate, tree = gating.of(self._rows, attempt), self.tree()
        if gate is None:
            if isinstance(outcome, Done):
                values = rendering(self._session, self._rows, tree, level, step, attempt)
                asked = gates.asked(step, values, self._now)
                if isinstance(asked, Wait):
                    self._wait(level, attempt, asked, head)
                    return
                assert isinstance(asked, Failed), "it is asked, or its texts cannot be put together"
                self._settled(tree, level, step, attempt, asked)
                return
            self._settled(tree, level, step, attempt, outcome)
        elif isinstance(outcome, Faulted):
            if (failed := gating.unread(self._session, attempt, gate, outcome, self._now)) is not None:
                self._settled(tree, level, step, attempt, failed)
        elif gating.held(self._session, gate, head):
            self._answered(tree, level, step, attempt, gate)
        else:
            self._again(tree, level, step, attempt, gate, head)

    def _resume(self, tree: Tree, resume: Resume) -> None:
        level, attempt, gate = resume.level, resume.attempt, resume.gate
        step = level.step(attempt.step)
        if gate.state is GateState.OPEN:
            gate.state = follow(gate.state, GateState.ANSWERED if gate.kind == "posts" else GateState.EXPIRED)
            self._session.add(gate)
        if gate.kind in ASKED:
            self._terms.ask(self._session, self._rows, gate)
        answered = gate.state is GateState.ANSWERED
        if (
            gate.kind == "answer"
            and gate.head_sha
            and (gate.state is GateState.VOID or (answered and binds(gate, gate.answer or {})))
        ):
            self._goes_on(tree, level, step, attempt, gate)  # somebody reads the head
        elif gate.state is GateState.VOID:
            self._again(tree, level, step, attempt, gate)
        elif gate.kind == "approval":
            self._goes_on(tree, level, step, attempt, gate)
        elif gate.kind == "posts":
            kept = snapshots.get_blob(self._session, gate.kept) if gate.kept else b""
            outcome = posted(step, self._rows.posts.get(attempt.id, []), kept)
            outcome = judged(step, outcome, most=self._terms.result_bytes)
            assert not isinstance(outcome, Wait)
            self._settled(tree, level, step, attempt, outcome)
        else:
            self._answered(tree, level, step, attempt, gate)

    def _goes_on(self, tree: Tree, level: Level, step: Step, attempt: Attempt, gate: Gate) -> None:
        """An attempt that stopped is performed again, with what it waited for."""
        attempt.state, attempt.not_before = follow(attempt.state, AttemptState.RUNNING), None
        self._session.add(attempt)
        seconds = limits.seconds(level, self._now)
        self._begun.append(Begun(step, attempt, self._rows, tree, level, gate, seconds))

    def _again(
        self, tree: Tree, level: Level, step: Step, attempt: Attempt, gate: Gate, head: str | None = None
    ) -> None:
        """What was answered does not count: people are asked again, or it has failed."""
        failed = gating.again(self._session, self._rows, self._terms, gate, self._now, head)
        if failed is None:
            if attempt.state is AttemptState.RUNNING:
                attempt.state = follow(attempt.state, AttemptState.WAITING)
                self._session.add(attempt)
                self._session.flush()
        elif gate.kind == "approval":
            self._goes_on(tree, level, step, attempt, gate)  # the model is told
        else:
            self._settled(tree, level, step, attempt, failed)

    def _answered(self, tree: Tree, level: Level, step: Step, attempt: Attempt, gate: Gate) -> None:
        """What was waited for has come, or its time is over."""
        assert isinstance(step, (AskStep, WaitStep))
        outcome = gates.with_writes(gates.came_to(step, gate), step.writes)
        assert not isinstance(outcome, Wait)
        self._settled(tree, level, step, attempt, outcome, gates.reason_of(gate))

    def _settled(
        self, tree: Tree, level: Level, step: Step, attempt: Attempt, outcome: Done | Failed | Faulted, told: str = ""
    ) -> None:
        self._ledger(tree).settle(level, step, attempt, outcome, said=told)
        self._session.flush()
        said(self._session, self._rows, self._terms, level, attempt)
