"""Does a step: opens what it needs, has its context put together, hands it to `steps`, and turns faults to outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from bot import log
from bot.engine.assembly import Bench, assemble_step
from bot.engine.commit import Begun, Terms, attach
from bot.engine.delivered import delivered
from bot.engine.grant import environment, own_variables, step_limits
from bot.engine.graph import End
from bot.engine.judge import judged
from bot.engine.reading import Reading
from bot.engine.report import Reporter
from bot.engine.scope import scope
from bot.engine.tools import Tools, repository_of
from bot.errors import BotError, ConfigurationError, Forbidden, NotFound, OperatorError, Transient, UserError
from bot.github import RepositoryClient
from bot.model.outcome import Failed, Faulted, Outcome
from bot.model.role import Role
from bot.model.state import RunState
from bot.runners import Call, Limits
from bot.steps import perform_agent, perform_run, read_result, result_file
from bot.store import Session, runs, snapshots
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import Agent, AgentStep, BotFile, Budget, Configuration, RunStep, Step
from bot.workspace import Workspace

_log = log.get("engine")

#: a role read this recently, when the dispatch was accepted, is not asked again at the start
FRESH = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class _Place:
    """What a step works with: its folder, the variables its commands get, the template values."""

    workspace: Workspace
    env: Mapping[str, str]
    scope: Mapping[str, object]


class Desk:
    """One for the instance; see `worker.Desk` for what each method promises."""

    def __init__(self, tools: Tools) -> None:
        self._t = tools
        self._reading = Reading(tools)
        self._reporter = Reporter(tools.speaker)

    async def terms(self, rows: RunRows) -> Terms:
        checked = self._configuration(rows)
        workflow = checked.workflow_for(rows.run.workflow)
        if workflow is None:
            raise UserError("unknown_workflow", f"`{rows.run.workflow}` is not in this configuration", "")
        budget = checked.budget_for(workflow).within(Budget(usd=self._t.max_run_usd))
        return Terms(checked, workflow, budget, self._t.max_usd_day, self.say, self._say_step)

    async def admit(self, rows: RunRows) -> End | None:
        """Whether the one who asked still may: an end where the role is gone, checked before the first attempt."""
        if rows.attempts or not rows.dispatch.actor_role:
            return None
        if self._t.clock.now() - rows.dispatch.created_at <= FRESH:
            return None
        configuration = self._configuration(rows)
        needed = configuration.role_for(rows.run.workflow)
        try:
            role = await self._client(rows).permission(rows.dispatch.actor)
        except (NotFound, Forbidden):
            role = Role.NONE
        if role.at_least(needed):
            return None
        return End(RunState.CANCELLED, None, "The role of the person who asked changed before this started.")

    def say(self, session: Session, rows: RunRows, end: End) -> None:
        configuration, steps = self._known(rows)
        self._reporter.end(session, rows, end, steps, configuration.bot if configuration else BotFile(version=1))

    def say_plainly(self, session: Session, rows: RunRows, end: End) -> None:
        self._reporter.plainly(session, rows)

    def _say_step(self, session: Session, rows: RunRows, step: Step, attempt: Attempt) -> None:
        configuration, _ = self._known(rows)
        self._reporter.output(session, rows, step, attempt, configuration.bot if configuration else BotFile(version=1))

    async def clear(self, run_id: str) -> None:
        try:
            await self._t.workspaces.remove(run_id)
        except (BotError, OSError) as error:  # the next start sweeps it; the run itself has ended well
            _log.warning("workspace_left", run=run_id, reason=str(error))

    async def sweep(self) -> None:
        for run_id in await asyncio.to_thread(self._t.workspaces.known):
            if await self._has_ended(run_id):
                await self.clear(run_id)

    async def _has_ended(self, run_id: str) -> bool:
        return await self._t.store.read(lambda session: runs.ended(session, run_id))

    async def perform(self, begun: Begun, terms: Terms) -> Outcome:
        run_ends = False
        seconds = begun.step.timeout
        if terms.budget.minutes is not None and begun.rows.run.started_at is not None:
            passed = (self._t.clock.now() - begun.rows.run.started_at).total_seconds()
            remaining = max(0.0, terms.budget.minutes * 60 - passed)
            run_ends = remaining < seconds
            seconds = min(seconds, remaining)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                outcome, file = await self._perform(begun, terms, seconds)
                # a schema and a large answer may take a while
                return await asyncio.to_thread(judged, begun.step, outcome, file)
        except Exception as error:  # noqa: BLE001  # every fault of a step is an outcome, recorded and told
            if isinstance(error, TimeoutError) and limit.expired():
                if run_ends:
                    return Failed("run_timed_out", f"its {terms.budget.minutes:g} minutes are over")
                return Failed(
                    "timeout", f"it did not end within {seconds:g} s", _hint(begun.step, "raise its `timeout`")
                )
            return _outcome_of(error, begun)

    async def _perform(self, begun: Begun, terms: Terms, seconds: float) -> tuple[Outcome, str | None]:
        """What came of the step, and what it left as its result in a file, if anything."""
        async with self._place(begun, terms) as place:
            match begun.step:
                case RunStep() as step:
                    return await self._run(step, place, seconds)
                case AgentStep() as step:
                    return await self._ask(begun, terms, step, place, seconds), None
                case step:  # passed by `commit` without anybody's work
                    raise TypeError(f"a step of kind {step.kind} is not performed")

    async def _run(self, step: RunStep, place: _Place, seconds: float) -> tuple[Outcome, str | None]:
        async with result_file() as file:
            outcome = await perform_run(
                step.argv(place.scope).argv,
                cwd=place.workspace.path,
                env={**place.env, "BOT_RESULT_FILE": str(file), **self._environment(step.environment(place.scope))},
                timeout=seconds,
                sandbox=self._t.sandbox,
                where=str(step.mark),
                writable=(file.parent,),
            )
            return outcome, await asyncio.to_thread(read_result, file)

    async def _ask(self, begun: Begun, terms: Terms, step: AgentStep, place: _Place, seconds: float) -> Outcome:
        agent = terms.configuration.agents[step.agent]
        limits = step_limits(step, terms.budget, begun.rows.attempts, seconds)
        if (barred := self._t.runners.check(_probe(agent, limits))) is not None:
            return barred
        client = self._client(begun.rows)
        mention = terms.configuration.bot.mention
        handle = f"@{mention[0]}" if mention else self._t.handle()
        handed = await delivered(begun.rows, terms.workflow, step, self._blob)
        context = await assemble_step(
            Bench(self._t.sandbox, self._t.runners, self._t.nonce_key, self._t.redact, handle),
            begun.rows,
            terms.configuration,
            terms.workflow,
            step,
            agent,
            snapshot=await self._reading.thread(begun.rows, terms, client),
            role_of=self._reading.role_of(client),
            workspace=place.workspace,
            env=place.env,
            scope={**place.scope, "agent": {"name": step.agent, "model": self._model(agent, limits)}},
            resolve=self._environment,
            handed=handed,
        )
        prompt = f"{context.system}\n\n{context.prompt}".encode("utf-8", "replace")
        manifest = context.manifest.model_dump(mode="json")
        await self._t.store.write(
            lambda session: attach(session, begun.attempt.id, prompt, manifest, self._t.clock.now())
        )
        return await perform_agent(
            step.agent,
            agent,
            context,
            limits=limits,
            cwd=place.workspace.path,
            env=place.env,
            runners=self._t.runners,
            schema=step.result.checker.schema if step.result is not None else None,
        )

    async def _blob(self, digest: str) -> bytes:
        return await self._t.store.read(lambda session: snapshots.get_blob(session, digest))

    def _model(self, agent: Agent, limits: Limits) -> str:
        """The model that will be asked first: those before it in the order have no key or are not known."""
        models = self._t.runners.models_of(_probe(agent, limits))
        usable = (model for model in models if self._t.runners.providers.check(model) is None)
        return next(usable, f"exec:{agent.runner.exec[0]}" if agent.runner else "")

    @asynccontextmanager
    async def _place(self, begun: Begun, terms: Terms) -> AsyncIterator[_Place]:
        rows, step = begun.rows, begun.step
        client = self._client(rows)
        mode = step.workspace
        url = (await client.clone_access()).url if mode != "none" else ""

        async def token() -> str:
            return (await client.clone_access()).token

        thread = rows.thread
        ref = f"refs/pull/{thread.number}/head" if thread.is_pull_request else thread.default_branch
        async with self._t.workspaces.open(
            mode, run_id=rows.run.id, repository_id=thread.repository_id, clone_url=url, token=token, ref=ref
        ) as workspace:
            own = own_variables(rows, step, workspace)
            shared = self._environment(terms.configuration.bot.workspace.env)
            attempt = begun.attempt
            values = scope(rows, terms.workflow, attempt=attempt.number, iteration=attempt.iteration)
            yield _Place(workspace, {**shared, **own}, values)

    def _environment(self, names: Mapping[str, str | None]) -> dict[str, str]:
        """Variables as the YAML names them; None is the engine's own of that name, where the operator exports it."""
        return environment(names, self._t.export_env, self._t.environ)

    def _client(self, rows: RunRows) -> RepositoryClient:
        return self._t.github.repository(rows.thread.installation_id, repository_of(rows.thread))

    def _configuration(self, rows: RunRows) -> Configuration:
        checked = self._t.memo.check(rows.snapshot.repository_id, rows.snapshot.commit, rows.snapshot.files)
        if checked.configuration is None:
            raise ConfigurationError([f for f in checked.findings if f.severity == "error"])
        return checked.configuration

    def _known(self, rows: RunRows) -> tuple[Configuration | None, dict[str, Step]]:
        """What can be known of the configuration where the run ends because it cannot be used."""
        try:
            configuration = self._configuration(rows)
        except UserError:
            return None, {}
        workflow = configuration.workflow_for(rows.run.workflow)
        return configuration, {step.id: step for step in workflow.steps} if workflow else {}


def _probe(agent: Agent, limits: Limits) -> Call:
    return Call(
        system="",
        prompt="",
        limits=limits,
        model=agent.model or "",
        fallback=agent.fallback,
        argv=agent.runner.exec if agent.runner else (),
    )


def _hint(step: Step, what: str) -> str:
    return f"{what[0].upper()}{what[1:]} in `{step.mark}`." if step.mark.file else ""


def _outcome_of(error: Exception, begun: Begun) -> Outcome:
    match error:
        case UserError():
            return Failed(error.code, error.message, error.hint, stderr=error.detail)
        case OperatorError():
            return Failed("not_possible_here", error.message, error.mend)
        case Transient():
            return Faulted(str(error), error.retry_after)
        case NotFound() | Forbidden():
            return Failed("github_refused", str(error), "The App may lack a permission, or the thing is gone.")
        case BotError():
            return Failed("failed", str(error))
    _log.exception("step_crashed", run=begun.rows.run.id, step=begun.step.id, exc_info=error)
    return Failed(
        "internal_error", f"the bot itself failed ({type(error).__name__})", "Its operator finds it in the log."
    )
