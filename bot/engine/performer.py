"""Does the work of one attempt: what each kind of step is given, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from bot.context import ThreadSnapshot
from bot.engine.assembly import Bench, RoleOf, assemble_step
from bot.engine.commit import Performed
from bot.engine.delivered import delivered
from bot.engine.grant import step_limits
from bot.engine.judge import judged
from bot.engine.terms import Begun, Terms
from bot.model.context import Context
from bot.model.outcome import Outcome
from bot.runners import Call, Limits
from bot.steps import perform_agent, perform_run, read_result, result_file
from bot.workflows import Agent, AgentStep, RunStep
from bot.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Place:
    """What a step works with: its folder, the variables its commands get, the template values."""

    workspace: Workspace
    env: Mapping[str, str]
    scope: Mapping[str, object]


class Surroundings(Protocol):
    """What is around the steps of one run: GitHub and the store, or files on a laptop."""

    @property
    def bench(self) -> Bench: ...

    @property
    def role_of(self) -> RoleOf: ...

    async def thread(self) -> ThreadSnapshot:
        """The thread at the run's anchor; read once a run."""
        ...

    async def blob(self, digest: str) -> bytes:
        """Bytes of the store."""
        ...

    async def attach(self, begun: Begun, context: Context) -> None:
        """Keep what an agent is about to be given."""
        ...

    def environment(self, names: Mapping[str, str | None]) -> dict[str, str]:
        """Variables as the YAML names them; None is the engine's own of that name, where the operator exports it."""
        ...


class Performer:
    """Performs the attempts of one run. Faults are raised; whoever calls turns them into outcomes.

    Without `judging` results are not held against what a step declares: where no model is asked there is none.
    """

    def __init__(self, around: Surroundings, terms: Terms, *, judging: bool = True) -> None:
        self._around, self._terms, self._judging = around, terms, judging
        self._runners, self._sandbox = around.bench.runners, around.bench.sandbox

    async def perform(self, begun: Begun, place: Place, seconds: float) -> Performed:
        """Do the step within `seconds`."""
        outcome, file = await self._outcome(begun, place, seconds)
        if not self._judging:
            return Performed(outcome)
        # a schema and a large answer may take a while
        return Performed(await asyncio.to_thread(judged, begun.step, outcome, file))

    async def _outcome(self, begun: Begun, place: Place, seconds: float) -> tuple[Outcome, str | None]:
        """What came of the step, and what it left as its result in a file, if anything."""
        match begun.step:
            case RunStep() as step:
                return await self._run(step, place, seconds)
            case AgentStep() as step:
                return await self._ask(begun, step, place, seconds), None
            case step:  # opened or passed by `advance`
                raise TypeError(f"a step of kind {step.kind} is not performed")

    async def _run(self, step: RunStep, place: Place, seconds: float) -> tuple[Outcome, str | None]:
        async with result_file() as file:
            own = self._around.environment(step.environment(place.scope))
            outcome = await perform_run(
                step.argv(place.scope).argv,
                cwd=place.workspace.path,
                env={**place.env, "BOT_RESULT_FILE": str(file), **own},
                timeout=seconds,
                sandbox=self._sandbox,
                where=str(step.mark),
                writable=(file.parent,),
            )
            return outcome, await asyncio.to_thread(read_result, file)

    async def _ask(self, begun: Begun, step: AgentStep, place: Place, seconds: float) -> Outcome:
        agent = self._terms.configuration.agents[step.agent]
        limits = step_limits(step, self._terms.budget, begun.rows.attempts, seconds)
        if (barred := self._runners.check(probe(agent, limits))) is not None:
            return barred
        context = await assemble_step(
            self._around.bench,
            begun.rows,
            self._terms.configuration,
            begun.level.workflow,
            step,
            agent,
            snapshot=await self._around.thread(),
            role_of=self._around.role_of,
            workspace=place.workspace,
            env=place.env,
            scope={**place.scope, "agent": {"name": step.agent, "model": self._model(agent, limits)}},
            resolve=self._around.environment,
            handed=await delivered(begun, step, self._around.blob),
        )
        await self._around.attach(begun, context)
        return await perform_agent(
            step.agent,
            agent,
            context,
            limits=limits,
            cwd=place.workspace.path,
            env=place.env,
            runners=self._runners,
            schema=step.result.checker.schema if step.result is not None else None,
        )

    def _model(self, agent: Agent, limits: Limits) -> str:
        """The model that will be asked first: those before it in the order have no key or are not known."""
        models = self._runners.models_of(probe(agent, limits))
        usable = (model for model in models if self._runners.providers.check(model) is None)
        return next(usable, f"exec:{agent.runner.exec[0]}" if agent.runner else "")


def probe(agent: Agent, limits: Limits) -> Call:
    """A call as the agent would make it, without its texts: to ask what stands in its way."""
    return Call(
        system="",
        prompt="",
        limits=limits,
        model=agent.model or "",
        fallback=agent.fallback,
        argv=agent.runner.exec if agent.runner else (),
    )
