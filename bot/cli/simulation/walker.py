"""Walks a workflow with the engine's own transactions on a database of its own; nobody performs anything."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.cli.local import ThreadFile, keep
from bot.cli.simulation.answers import Answers
from bot.cli.simulation.given_files import made_up_files
from bot.cli.simulation.made_up import Wanted, answer, made_up, performed
from bot.cli.simulation.prompts import Prompts
from bot.cli.simulation.quiet import Quiet
from bot.cli.simulation.reason import why
from bot.cli.simulation.report import Asked, Prompt, Report, Visit
from bot.engine import commit, gates
from bot.engine.commit import Advance, Begun, Performed, Terms
from bot.engine.frames import Level, Tree
from bot.engine.graph import End
from bot.engine.rendering import rendering
from bot.engine.run_inputs import bound_inputs, to_fetch
from bot.engine.scope import condition_scope, context_of
from bot.errors import UserError
from bot.model.outcome import Done, Failed
from bot.model.state import AttemptState, GateState, RunState, follow
from bot.store import Session, Store, open_store, runs
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Gate
from bot.workflows import Configuration, Step, Workflow
from bot.workflows.base_step import WorkingStep
from bot.workflows.gate_steps import AskStep
from bot.workflows.step import UsesStep, WaitStep

#: attempts after which a walk is given up
MOST = 500
#: states in which an attempt has its outcome and its route
_ENDED = frozenset({AttemptState.SUCCESS, AttemptState.FAIL, AttemptState.SKIPPED})
_OPEN = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.WAITING})


class Endless(Exception):
    """The walk came to no end; the message says where it was given up."""


async def walk(
    configuration: Configuration,
    workflow: Workflow,
    rows: RunRows,
    file: ThreadFile,
    answers: Answers,
    root: Path | None,
) -> Report:
    """Go through a run whose rows are `rows`, on the thread of `file`, until it ends.

    `root` is the repository whose files `file` inputs read. Raises `Endless` where there is no end, `UserError` for
    answers that no gate takes.
    """
    names = {name for name, _ in _steps(configuration, workflow)}
    answers.check({*names, *(name.rpartition("/")[2] for name in names)})
    with tempfile.TemporaryDirectory(prefix="threadsmith-") as place:
        store = open_store(f"sqlite:///{Path(place) / 'run.db'}")
        try:
            handles = configuration.bot.mention or ("bot",)
            now = rows.dispatch.created_at
            thread = await file.snapshot(configuration.bot.history_comment_count, handles, now)
            around = Quiet(configuration, file, thread, store, f"@{handles[0]}")
            return await _Walk(store, configuration, workflow, rows, around, answers, root).go()
        finally:
            await store.close()


def _steps(configuration: Configuration, workflow: Workflow, within: str = "") -> Iterator[tuple[str, Step]]:
    """Every step that a run of the workflow may come to, by its name without keys."""
    for step in workflow.every_step:
        yield f"{within}{step.id}", step
        if isinstance(step, UsesStep) and (used := configuration.workflow_for(step.uses)) is not None:
            yield from _steps(configuration, used, f"{within}{step.id}/")


@dataclass(slots=True)
class _Note:
    """What is known of an attempt beside its row."""

    prompt: Prompt | None = None
    asked: Asked | None = None
    given: bool = False
    warnings: list[str] = field(default_factory=list)


class _Walk:
    def __init__(
        self,
        store: Store,
        configuration: Configuration,
        workflow: Workflow,
        rows: RunRows,
        around: Quiet,
        answers: Answers,
        root: Path | None,
    ) -> None:
        self._store, self._configuration, self._workflow = store, configuration, workflow
        self._rows, self._answers, self._root = rows, answers, root
        self._run_id = rows.run.id
        self._now = rows.dispatch.created_at
        self._ends: list[End] = []
        self._notes: dict[str, _Note] = {}
        self._visits: dict[str, Visit] = {}
        self._wanted: dict[str, Wanted] = {}
        self._terms = Terms(
            configuration,
            workflow,
            configuration.budget_for(workflow),
            float("inf"),
            lambda _session, _rows, end: self._ends.append(end),
            lambda *_: None,
        )
        self._prompts = Prompts(around, self._terms, root)

    async def go(self) -> Report:
        await self._store.write(lambda session: keep(session, self._rows))
        files = made_up_files(self._workflow.inputs, self._rows.dispatch.inputs, self._root)
        await self._store.write(lambda session: commit.keep_inputs(session, self._run_id, files, self._now))
        waiting = deque((await self._advance()).begun)
        while True:
            await self._look()
            if len(self._visits) > MOST:
                last = [*self._visits.values()][-1].name
                raise Endless(f"after {MOST:,} attempts the walk has not come to its end; it is at `{last}`")
            if waiting:
                begun = waiting.popleft()
                done = await self._perform(begun)
                waiting.extend((await self._record(begun, done)).begun)
            elif self._rows.run.state not in _OPEN:
                return self._report()
            else:
                waiting.extend(await self._resumed())

    async def _advance(self) -> Advance:
        return await self._store.write(lambda session: commit.advance(session, self._run_id, self._terms, self._now))

    async def _record(self, begun: Begun, done: Performed) -> Advance:
        return await self._store.write(lambda session: commit.record(session, begun, done, self._terms, self._now))

    async def _perform(self, begun: Begun) -> Performed:
        """What a step comes to: its texts are put together as in a real run, the rest is given or made up."""
        step, name = begun.step, name_of(begun.level, begun.attempt)
        note = self._notes.setdefault(begun.attempt.id, _Note())
        if isinstance(step, WaitStep):  # nothing has happened yet
            return Performed(gates.asked(step, {}, self._now))
        assert isinstance(step, WorkingStep)
        if isinstance(step, UsesStep):
            return await self._used(begun, step)
        entry = self._answers.take(*_aliases(name))
        note.given = entry is not None
        try:
            note.prompt, note.warnings, certain = await self._prompts.of(begun)
        except UserError as error:
            return Performed(Failed(error.code, error.message, error.hint, stderr=error.detail))
        if certain is not None:
            return Performed(certain)
        workflow = begun.level.workflow
        wanted = self._wanted.setdefault(workflow.called, Wanted.of(workflow, self._configuration.agents))
        return performed(step, entry, made_up(step, wanted, workflow))

    async def _used(self, begun: Begun, step: UsesStep) -> Performed:
        """The files that a used workflow is given; paths that steps would have made lead to made-up ones."""
        used = self._terms.find(step.uses)
        assert used is not None, "a workflow that is not there is refused at load"
        values = await self._store.read(
            lambda session: rendering(session, begun.rows, begun.tree, begun.level, step, begun.attempt)
        )
        bound = bound_inputs(step, values, used)
        return Performed(Done(), given=made_up_files(to_fetch(begun.level, used, bound), bound, self._root))

    # -- what waits ---------------------------------------------------------------------------------------------------

    async def _resumed(self) -> tuple[Begun, ...]:
        """Answer what people are asked; where nothing asks, let the time come that is waited for."""
        tree = self._tree()
        for gate in [one for one in self._rows.gates if one.state is GateState.OPEN]:
            attempt = next(one for one in self._rows.attempts if one.id == gate.attempt_id)
            if await self._answered(tree.level(attempt), attempt, gate):
                return await self._claimed()
        if self._rows.run.not_before is None:
            raise Endless(f"the run waits, and nothing that could happen lets it go on ({self._rows.run.state})")
        self._now = max(self._now, self._rows.run.not_before)
        return await self._claimed()

    async def _answered(self, level: Level, attempt: Attempt, gate: Gate) -> bool:
        """Answer one gate; False where it has to wait for its time."""
        step, note = level.step(attempt.step), self._notes.setdefault(attempt.id, _Note())
        entry = self._answers.take(*_aliases(name_of(level, attempt)))
        note.given = entry is not None
        if isinstance(step, AskStep):
            said = answer(step, gate, entry)
            shown = "nobody, until its time is over" if said is None else _shown(said)
            note.asked = Asked("answer", gate.question, tuple(gate.options.get("options", {})), shown)
        elif gate.kind == "event":
            late = (entry or {}).get("outcome") == "timeout"
            said = None if late else {"event": (entry or {}).get("event", {"event": gate.options.get("event")})}
            shown = "it does not happen in time" if late else "it happens"
            note.asked = Asked("event", str(gate.options.get("event")), (), shown)
        else:
            said, note.asked = None, Asked("time", "", (), "the time comes")
        if said is None:
            self._now = max(self._now, gate.deadline or self._now)
            return True
        await self._store.write(lambda session: _keep_answer(session, gate.id, said, self._run_id))
        return True

    async def _claimed(self) -> tuple[Begun, ...]:
        """A worker takes the run again."""
        now = self._now
        await self._store.write(lambda session: runs.claim(session, "walk", now))
        return (await self._advance()).begun

    # -- what came of it ----------------------------------------------------------------------------------------------

    def _tree(self) -> Tree:
        return Tree.of(self._rows, self._workflow, self._configuration.workflow_for)

    async def _look(self) -> None:
        """Read the rows again and note every attempt that has ended since: conditions saw what stands there now."""
        self._rows = await self._store.read(lambda session: runs.rows(session, self._run_id))
        tree = self._tree()
        for attempt in self._rows.attempts:
            visit = self._visits.get(attempt.id)
            if visit is None:
                name = name_of(tree.level(attempt), attempt)
                visit = self._visits[attempt.id] = Visit(name, attempt.kind, str(attempt.state))
            elif visit.state == attempt.state and (visit.why or attempt.state not in _ENDED):
                continue
            self._tell(visit, tree, attempt)

    def _tell(self, visit: Visit, tree: Tree, attempt: Attempt) -> None:
        level = tree.level(attempt)
        note = self._notes.setdefault(attempt.id, _Note())
        visit.state, visit.given = str(attempt.state), note.given
        visit.prompt, visit.asked = note.prompt, note.asked
        if attempt.error:
            visit.error = f"{attempt.error.get('code', '')}: {attempt.error.get('message', '')}"
        if attempt.state in _ENDED and attempt.route:
            visit.to = attempt.route.get("to", "")
            visit.why = why(level.step(attempt.step), attempt, self._seen(tree, level, attempt))
            visit.warnings = [*note.warnings, *attempt.route.get("notes", ())]

    def _seen(self, tree: Tree, level: Level, attempt: Attempt) -> dict[str, Any]:
        """What the conditions of an attempt's routes looked at, as far as the rows still tell."""
        context = context_of(self._rows, tree, level)
        scope = condition_scope(self._rows, level, context, attempt.step)
        outcome = {AttemptState.SUCCESS: "success", AttemptState.FAIL: "fail"}.get(attempt.state, "skipped")
        return {**scope, "outcome": scope["outcome"] if attempt.kind in ("switch", "end") else outcome}

    def _report(self) -> Report:
        reached = {_plain(visit.name) for visit in self._visits.values()}
        unreached = [name for name, _ in _steps(self._configuration, self._workflow) if name not in reached]
        end = self._ends[0] if self._ends else End(self._rows.run.state, None, self._rows.run.reason)
        warnings = [f"the answers for `{name}` were not asked for" for name in self._answers.unused]
        visits = list(self._visits.values())
        return Report(self._rows.run.workflow, str(end.state), end.reason, visits, unreached, warnings=warnings)


def name_of(level: Level, attempt: Attempt) -> str:
    """`id`; `id[key]` in an element or branch, outer keys first; `outer/id` in a used workflow."""
    keys: list[str] = []
    owners: list[str] = []
    for one in level.lineage():
        if one.frame.key is not None:
            keys.insert(0, one.frame.key)
        if one.is_used and one.owner is not None:
            owners.insert(0, one.owner.id)
    name = "/".join([*owners, attempt.step])
    return f"{name}[{'.'.join(keys)}]" if keys else name


def _plain(name: str) -> str:
    return name.partition("[")[0]


def _aliases(name: str) -> tuple[str, ...]:
    """Where an entry is looked for, the most precise first."""
    plain, bracket, key = name.partition("[")
    step = plain.rpartition("/")[2]
    return tuple(dict.fromkeys([name, f"{step}{bracket}{key}", plain, step]))


def _keep_answer(session: Session, gate_id: str, said: dict[str, Any], run_id: str) -> None:
    gate = session.get_one(Gate, gate_id)
    gate.answer = said
    gate.state = follow(gate.state, GateState.ANSWERED)
    session.add(gate)
    runs.wake(session, run_id)


def _shown(said: dict[str, Any]) -> str:
    words = [f"`{said['answer']}`" if said.get("answer") else "", f"“{said['text']}”" if said.get("text") else ""]
    words += [f"{key}: {value}" for key, value in said.get("answers", {}).items()]
    return ", ".join(word for word in words if word)
