"""Small random workflows and whole walks through them, with deaths of the process in between."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from bot.engine.commit import Begun
from bot.model.ident import new_id
from bot.model.outcome import Done, Failed, Outcome
from bot.model.state import AttemptState, GateState, RunState
from bot.store import Session, Store, gates, leases, runs
from bot.store.runs import RunRows
from bot.store.tables import Gate
from bot.workflows.answers import taken
from tests.engine.play import Play

#: commits after which a walk of such a small workflow is one that does not end
MOST_COMMITS = 400


@dataclass(frozen=True, slots=True)
class Sketch:
    """A workflow as YAML, the steps that fail, and what people answer at each gate."""

    steps: str
    failing: frozenset[str]
    answers: dict[str, str]


@st.composite
def sketches(draw: st.DrawFn) -> Sketch:
    """Rows of commands, agents, gates and waits; branches, elements and repetitions with such rows inside."""
    ids: list[str] = []
    failing: set[str] = set()
    answers: dict[str, str] = {}

    def leaf(kind: str) -> dict[str, Any]:
        ids.append(f"s{len(ids)}")
        step: dict[str, Any] = {"id": ids[-1]}
        match kind:
            case "agent":
                step |= {"agent": "writer", "prompt": "p"}
            case "ask":
                step |= {"ask": "Fine?"}
                answers[ids[-1]] = draw(st.sampled_from(["approve", "approve", "reject"]))
            case "wait":
                step |= {"wait": {"for": "1h"}}
            case _:
                step |= {"run": "x"}
                if draw(st.integers(0, 4)) == 0:
                    failing.add(ids[-1])
        if draw(st.integers(0, 5)) == 0:
            step["when"] = "outcome == 'fail'"
        return step

    def nest(kind: str, depth: int) -> dict[str, Any]:
        ids.append(f"s{len(ids)}")
        own = ids[-1]
        if kind == "parallel":
            return {"id": own, "parallel": {"branches": {name: row(depth + 1) for name in ("a", "b")}}}
        if kind == "each":
            return {"id": own, "each": {"over": ["x", "y"]}, "steps": row(depth + 1)}
        until = draw(st.sampled_from(["outcome == 'success'", "outcome == 'fail'"]))
        loop = {"max": 2, "until": until, "on_exhaust": draw(st.sampled_from(["last", "fail"]))}
        return {"id": own, "loop": loop, "steps": row(depth + 1)}

    def row(depth: int) -> list[dict[str, Any]]:
        simple, nested = ["run", "run", "agent", "ask", "wait"], ["parallel", "each", "loop"]
        kinds = draw(st.lists(st.sampled_from(simple + (nested * 2 if depth < 2 else [])), min_size=1, max_size=3))
        steps = [nest(kind, depth) if kind in nested else leaf(kind) for kind in kinds]
        for step, following in zip(steps, [*steps[1:], {"id": "end"}], strict=True):
            if draw(st.integers(0, 2)) == 0:
                step["next"] = [{"when": "outcome == 'fail'", "to": following["id"]}, {"to": following["id"]}]
        return steps

    steps = "\n".join(f"- {json.dumps(step)}" for step in row(0))
    return Sketch(steps, frozenset(failing), answers)


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk came to: its end, what every step of every frame came to, and the root's run context."""

    end: str
    attempts: list[tuple[str, str, str, str, str]]
    context: dict[str, str]
    commits: int


class Walk:
    """One run from its start to its end. `choices` decide what happens next where several things may."""

    def __init__(
        self, store: Store, play: Play, sketch: Sketch, choices: Sequence[int], deaths: Collection[int]
    ) -> None:
        self._store, self._play, self._sketch = store, play, sketch
        self._choices, self._deaths = choices or [0], deaths
        self._owner = "me"
        self.commits = 0

    async def go(self) -> Walked:
        """Walk on until the end; fails where there is none."""
        play = self._play
        while not (found := await play.case.rows()).run.state.ended:
            assert self.commits < MOST_COMMITS, f"no end: {self._sketch.steps}"
            await self._move(found)
            self.commits += 1
            if self.commits in self._deaths:
                await self._die()
        paths = {frame.id: frame.path for frame in found.frames}
        attempts = sorted(
            (paths[one.frame_id], one.step, str(one.state), str(one.output), json.dumps(one.result))
            for one in found.attempts
            if one.state is not AttemptState.INTERRUPTED  # done again
        )
        won = [(one.frame_id, one.step, one.iteration) for one in found.attempts if one.state is AttemptState.SUCCESS]
        assert len(won) == len(set(won)), "a step that had succeeded was done again"
        assert not any(one.state is GateState.OPEN for one in found.gates)
        return Walked(play.end, attempts, await play.context(), self.commits)

    async def _move(self, found: RunRows) -> None:
        play, run = self._play, found.run
        open_ = [one for one in found.gates if one.state is GateState.OPEN and one.kind == "answer"]
        choice = self._choices[self.commits % len(self._choices)]
        if run.state is RunState.RUNNING and play.begun:
            if open_ and choice % 3 == 0:  # while others work
                await self._answer(found, open_[choice % len(open_)])
                await play.more()
            else:
                play.order = lambda begun: choice
                await play.step()
        elif run.state is RunState.RUNNING:
            await play.more()
            after = (await play.case.rows()).run.state
            assert play.begun or after is not RunState.RUNNING, "held, and nothing to do"
        elif run.state is RunState.WAITING and open_:
            await self._answer(found, open_[choice % len(open_)])
        else:
            await self._claim(found)

    async def _answer(self, found: RunRows, gate: Gate) -> None:
        step = next(one.step for one in found.attempts if one.id == gate.attempt_id)

        def work(session: Session) -> None:
            row = session.get_one(Gate, gate.id)
            gates.settle(session, row, {**taken(row.options, {"answer": self._sketch.answers[step]}), "by": "meg"})

        await self._store.write(work)

    async def _claim(self, found: RunRows) -> None:
        """A worker takes it, when its time has come."""
        play = self._play
        play.now = max(play.now, found.run.not_before or play.now)
        claimed = await self._store.write(lambda s: runs.claim(s, self._owner, play.now))
        assert claimed == play.case.run_id, "its turn does not come"

    async def _die(self) -> None:
        """The process ends: what it held in memory is gone, and another one takes over."""
        self._play.begun.clear()
        self._owner = new_id()
        await self._store.write(lambda s: leases.recover(s, self._owner, self._play.now))


async def walk(store: Store, sketch: Sketch, choices: Sequence[int] = (), deaths: Collection[int] = ()) -> Walked:
    """Walk through a workflow of `sketch`, dying after each of these commits."""
    play = await Play.of(store, sketch.steps, script_of(sketch), guid=new_id())
    return await Walk(store, play, sketch, choices, deaths).go()


def script_of(sketch: Sketch) -> dict[str, Any]:
    """What its steps come to: by where they stand, and by their names."""

    def outcome(begun: Begun) -> Outcome:
        if begun.step.id in sketch.failing:
            return Failed("command_failed", "as sketched")
        where = f"{begun.level.frame.path}/{begun.step.id}"
        return Done(output=f"did {where}", result={"at": where} if begun.step.kind == "agent" else None)

    return dict.fromkeys([f"s{n}" for n in range(100)], outcome)
