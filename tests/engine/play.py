"""Plays a whole run on a real database with scripted outcomes, several attempts at once where the workflow says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.engine import commit
from bot.engine.commit import Begun
from bot.engine.frames import Tree
from bot.engine.gates import asked
from bot.engine.judge import judged
from bot.engine.scope import context_of
from bot.model.outcome import Done, Outcome
from bot.model.state import GateState
from bot.store import Session, Store, gates, runs
from bot.store.runs import RunRows
from bot.store.tables import Gate
from bot.workflows.answers import taken
from bot.workflows.step import WaitStep
from tests.engine.scene import Case, open_case
from tests.rows import NOW

#: what a step comes to (an outcome, a list of them, or a function of `Begun`): by id, or by `id[key]` within an element
#: or branch
Script = Mapping[str, Any]


@dataclass
class Play:
    """A run under way. `begun` are attempts that are performed now; `order` says which of them ends next."""

    case: Case
    script: dict[str, Any]
    begun: list[Begun] = field(default_factory=list)
    now: datetime = NOW
    most: int = 0
    order: Callable[[list[Begun]], int] = lambda begun: 0
    started: list[str] = field(default_factory=list)

    @classmethod
    async def of(cls, store: Store, steps: str, script: Script | None = None, **more: Any) -> Play:
        """A run of the workflow `main` whose steps are `steps`, YAML at any indent."""
        return cls(await open_case(store, workflow_of(steps), **more), dict(script or {}))

    async def go(self) -> Play:
        """Perform until nothing is left to do."""
        await self.more()
        while self.begun:
            await self.step()
        return self

    async def more(self) -> None:
        """Begin what may begin."""
        case = self.case
        advance = await case.store.write(lambda s: commit.advance(s, case.run_id, case.terms, self.now))
        self._take(advance.begun)

    async def step(self) -> None:
        """One attempt ends."""
        begun = self.begun.pop(self.order(self.begun) % len(self.begun))
        advance = await self.case.recorded(begun, self._outcome(begun), self.now)
        self._take(advance.begun)

    def _take(self, begun: tuple[Begun, ...]) -> None:
        self.begun.extend(begun)
        # a wait looks whether it is so already, and here it never is
        self.started.extend(name(one) for one in begun if not isinstance(one.step, WaitStep))
        self.most = max(self.most, len(self.begun))

    def _outcome(self, begun: Begun) -> Outcome:
        if isinstance(begun.step, WaitStep):
            return asked(begun.step, {}, self.now)
        found = self.script.get(name(begun), self.script.get(begun.step.id, Done(output=f"did {name(begun)}")))
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        outcome: Outcome = found(begun) if callable(found) else found
        given = outcome.result if isinstance(outcome, Done) and begun.step.kind == "run" else None
        return judged(begun.step, outcome, None if given is None else json.dumps(given))

    async def answer(self, **answer: Any) -> None:
        """Answer the open gate, and go on."""

        def work(session: Session) -> None:
            gate = session.get_one(Gate, open_gate(runs.rows(session, self.case.run_id)).id)
            gates.settle(session, gate, {**taken(gate.options, answer), "by": "meg"})

        await self.case.store.write(work)
        await self.claim()
        await self.go()

    async def claim(self, after: float = 0) -> None:
        """A worker takes the run again, so many seconds later."""
        self.now += timedelta(seconds=after)
        claimed = await self.case.store.write(lambda s: runs.claim(s, "me", self.now))
        assert claimed == self.case.run_id

    async def ledger(self) -> list[str]:
        """Every attempt: frame, step and how it ended, in the order of the beginnings."""
        rows = await self.case.rows()
        paths = {frame.id: frame.path for frame in rows.frames}
        return [f"{paths[each.frame_id].rstrip('/')}/{each.step} {each.state}" for each in rows.attempts]

    async def result(self, step: str) -> Any:
        """The newest result of a step of the root frame."""
        rows = await self.case.rows()
        own = [each for each in rows.attempts if each.frame_id == rows.root.id and each.step == step]
        return own[-1].result

    async def error(self, step: str) -> str:
        """The newest error of a step of the root frame: code and message."""
        rows = await self.case.rows()
        own = [each for each in rows.attempts if each.frame_id == rows.root.id and each.step == step]
        return f"{own[-1].error.get('code')}: {own[-1].error.get('message')}"

    async def context(self) -> dict[str, str]:
        """The run context of the root frame."""
        rows = await self.case.rows()
        terms = self.case.terms
        tree = Tree.of(rows, terms.workflow, terms.find)
        return context_of(rows, tree, tree.root).newest

    @property
    def end(self) -> str:
        """How the run ended: state and reason."""
        (end,) = self.case.ends
        return f"{end.state} {end.reason}".strip()


def open_gate(rows: RunRows) -> Gate:
    """The gate that waits for an answer."""
    return next(gate for gate in rows.gates if gate.state is GateState.OPEN)


def name(begun: Begun) -> str:
    """`id`, or `id[key]` in a branch or element."""
    keys = [level.frame.key for level in begun.level.lineage() if level.frame.key is not None]
    return f"{begun.step.id}[{'.'.join(reversed(keys))}]" if keys else begun.step.id


def workflow_of(steps: str) -> str:
    """A file with an agent `writer` and the workflow `main`."""
    lines = steps.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    body = "\n".join(f"      {line[indent:]}" if line.strip() else "" for line in lines)
    return f"version: 1\nagents:\n  writer: {{model: demo:demo}}\nworkflows:\n  main:\n    steps:\n{body}\n"
