"""Does a step: opens what it needs, has its context put together, hands it to `steps`, and turns faults to outcomes."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bot import log
from bot.engine.admission import Admission, note_unheard
from bot.engine.around import Place
from bot.engine.assembly import Bench
from bot.engine.commit import Begun, Performed, Terms
from bot.engine.frames import Level
from bot.engine.giving import Giving
from bot.engine.grant import own_variables
from bot.engine.graph import End
from bot.engine.performer import Performer
from bot.engine.progress import say_check
from bot.engine.reading import Reading
from bot.engine.redaction import clean
from bot.engine.rendering import rendering
from bot.engine.report import Reporter
from bot.engine.run_files import RunFiles
from bot.engine.run_folder import has_commands
from bot.engine.run_inputs import SecretInputs, secret_names
from bot.engine.service import Service
from bot.engine.steering import say_late
from bot.engine.tools import Tools, repository_of, workspace_of
from bot.engine.trials import budget_of, trial_of
from bot.errors import BotError, ConfigurationError, Forbidden, NotFound, OperatorError, Transient, UserError
from bot.github import RepositoryClient
from bot.model.outcome import Done, Failed, Faulted, Intent, Outcome
from bot.model.state import GateState
from bot.store import Session, runs
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Gate
from bot.workflows import BotFile, Budget, Checked, Configuration, Step, Workflow
from bot.workflows.base_step import WorkingStep
from bot.workflows.request import request_budget
from bot.workflows.resources import secret_scope
from bot.workflows.step import AskStep, UsesStep
from bot.workspace import Left, Reach
from bot.workspace.reaching import Reaching
from bot.workspace.secrets import withheld

_log = log.get("engine")


class Desk:
    """One for the instance; see `worker.Desk` for what each method promises."""

    def __init__(self, tools: Tools) -> None:
        self._t = tools
        self._reading = Reading(tools)
        self._reporter = Reporter(tools.speaker)
        self._giving = Giving(tools)
        self._admission = Admission(tools)
        self._files = RunFiles(tools.store, tools.workspaces, tools.redact)

    async def terms(self, rows: RunRows) -> Terms:
        checked = self._configuration(rows)
        workflow = checked.workflow_for(rows.run.workflow)
        if workflow is None:
            raise UserError("unknown_workflow", f"`{rows.run.workflow}` is not in this configuration", "")
        asked, _ = request_budget(rows.dispatch.params)
        budget = checked.budget_for(workflow).within(asked).within(Budget(usd=self._t.max_run_usd))
        budget = budget.within(budget_of(trial_of(rows.dispatch)))
        return Terms(
            checked,
            workflow,
            budget,
            self._t.max_usd_day,
            self.say,
            self._say_step,
            self._ask_people,
            self._intend,
            self._started,
            self._t.result_max_bytes,
            remind=self._reporter.remind,
            heads=True,
        )

    async def admit(self, rows: RunRows) -> End | None:
        """Whether the one who asked still may, whenever it goes on, and the App, before the first attempt."""
        return await self._admission.ask(rows, self._configuration(rows), self._client(rows))

    async def give(self, rows: RunRows, terms: Terms) -> End | None:
        self._t.workspaces.arrive(rows.run.id)
        return await self._giving.begin(rows, terms, self._client(rows))

    def say(self, session: Session, rows: RunRows, end: End) -> None:
        configuration, workflow, bot = self._known(rows), self._workflow(rows), self._bot(rows)
        steps = {step.id: step for step in workflow.steps} if workflow else {}
        self._reporter.end(session, rows, end, steps, bot, bot.handle(self._t.handle()))
        note_unheard(session, rows, end)
        say_late(session, self._t.speaker, rows, end, configuration)
        say_check(session, self._t.speaker, rows, workflow, self._t.clock.now())

    def _started(self, session: Session, rows: RunRows) -> None:
        if rows.thread.is_pull_request:
            say_check(session, self._t.speaker, rows, self._workflow(rows), self._t.clock.now())
            # from now on somebody looks whether it says what is so, however the run ends
            runs.status_told(session, rows.run.id, self._t.clock.now())

    def say_plainly(self, session: Session, rows: RunRows, end: End) -> None:
        self._reporter.plainly(session, rows)

    def _say_step(self, session: Session, rows: RunRows, level: Level, step: Step, attempt: Attempt) -> None:
        self._reporter.output(session, rows, step, attempt, self._bot(rows), level.frame.path)

    def _ask_people(self, session: Session, rows: RunRows, gate: Gate) -> None:
        bot = self._bot(rows)
        self._reporter.ask(session, rows, gate, bot, bot.handle(self._t.handle()))

    def _intend(
        self,
        session: Session,
        rows: RunRows,
        level: Level,
        attempt: Attempt,
        intents: Sequence[Intent],
        waits: bool,
    ) -> None:
        path, bot = level.frame.path, self._bot(rows)
        self._reporter.intend(session, rows, attempt, intents, path, waits=waits, bot=bot)

    async def noted(self, run_id: str, terms: Terms) -> None:
        await self._files.note(run_id, terms)

    async def clear(self, run_id: str) -> None:
        self._files.forget(run_id)
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

    async def perform(self, begun: Begun, terms: Terms) -> Performed:
        performed = await self._performed(begun, terms)
        return performed if not self._t.shared else replace(performed, left=await self._left(begun))

    async def _left(self, begun: Begun) -> Left | None:
        """What the run's clone holds beside its commit, for whoever goes on with the run."""
        if begun.step.workspace == "none":
            return None
        try:
            return await self._t.workspaces.left(begun.rows.run.id)
        except OSError as error:  # it is looked at again after the next step
            _log.warning("clone_not_kept", run=begun.rows.run.id, reason=str(error))
            return None

    async def _performed(self, begun: Begun, terms: Terms) -> Performed:
        run_ends = False
        seconds = begun.step.timeout if begun.seconds is None else min(begun.step.timeout, begun.seconds)
        key = "`timeout`"
        own = begun.step.budget.minutes if isinstance(begun.step, WorkingStep) else None
        if own is not None and own * 60 < seconds:
            seconds, key = own * 60, "`minutes` of its `budget`"
        if terms.budget.minutes is not None:
            remaining = max(0.0, terms.budget.minutes * 60 - begun.rows.run.worked(self._t.clock.now()))
            run_ends = remaining < seconds
            seconds = min(seconds, remaining)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                if isinstance(begun.step, AskStep):
                    return await self._looked(begun)
                if isinstance(begun.step, UsesStep):
                    return await self._giving.use(begun, terms, self._client(begun.rows))
                foreign = await self._foreign(begun)
                around = self._around(begun, terms, foreign)
                async with self._place(begun, terms, around) as place:
                    return await Performer(around, terms).perform(begun, place, seconds)
        except Exception as error:  # noqa: BLE001  # every fault of a step is an outcome, recorded and told
            if isinstance(error, TimeoutError) and limit.expired():
                if run_ends:
                    return Performed(Failed("run_timed_out", f"its {terms.budget.minutes:g} minutes are over"))
                hint = _hint(begun.step, f"raise {key}")
                return Performed(Failed("timeout", f"it did not end within {seconds:g} s", hint))
            return Performed(clean(_outcome_of(error, begun), self._t.redact))

    async def _looked(self, begun: Begun) -> Performed:
        """The commit that what is asked, or was answered, is bound to: the pull request's head."""
        thread = begun.rows.thread
        try:
            pull = await self._client(begun.rows).pull_request(thread.number)
        except (NotFound, Forbidden):
            if begun.gate is not None and begun.gate.state is GateState.ANSWERED:
                raise
            return Performed(Done())  # the App may not read pull requests: there is nothing to bind to
        return Performed(Done(), head=pull.head_sha)

    def _around(self, begun: Begun, terms: Terms, foreign: bool) -> Service:
        handle = terms.configuration.bot.handle(self._t.handle())
        client = self._client(begun.rows)
        hosts = () if foreign else terms.configuration.bot.workspace.hosts
        sandbox = Reaching(self._t.sandbox, Reach.of(hosts).under(self._t.reach)) if hosts else self._t.sandbox
        bench = Bench(sandbox, self._t.runners, self._t.nonce_key, self._t.redact, handle)
        thread = begun.rows.thread
        secret = withheld if foreign else self._t.secrets.of(thread.repository_id, thread.owner_id)
        role_of = self._reading.role_of(client)
        return Service(self._t, self._reading, begun, terms, client, bench, role_of, secret, foreign)

    @asynccontextmanager
    async def _place(self, begun: Begun, terms: Terms, around: Service) -> AsyncIterator[Place]:
        rows, step = begun.rows, begun.step
        async with workspace_of(self._t, rows, self._client(rows), step.workspace) as workspace:
            folder: Path | None = None
            await self._giving.lay(begun, workspace, terms.configuration)
            if workspace.mode != "none":
                await self._files.note(rows.run.id, terms)
            if has_commands(step, terms.configuration):
                folder = await self._files.lay_out(begun)
            own = own_variables(rows, step, workspace, folder)
            shared = around.environment(terms.configuration.bot.workspace.env)
            attempt = begun.attempt
            values = await self._t.store.read(
                lambda session: rendering(session, rows, begun.tree, begun.level, step, attempt, terms.configuration)
            )
            resources = {name: one.shown for name, one in terms.configuration.bot.resources.items()}
            more = {
                "inputs": SecretInputs(values["inputs"], secret_names(begun.level.workflow), around.secret),
                "resources": resources,
                "secrets": secret_scope(around.secret),
            }
            readable = () if folder is None else (folder,)
            yield Place(workspace, {**shared, **own}, {**values, **more}, readable)

    async def _foreign(self, begun: Begun) -> bool:
        """Whether the step sees what a stranger's fork holds, or is tried: it gets no secrets and no network."""
        thread, step = begun.rows.thread, begun.step
        if begun.rows.dispatch.trial:
            return True
        if not thread.is_pull_request or step.workspace == "none":
            return False
        return (await self._client(begun.rows).pull_request(thread.number)).from_fork

    def _client(self, rows: RunRows) -> RepositoryClient:
        return self._t.github.repository(rows.thread.installation_id, repository_of(rows.thread))

    def _configuration(self, rows: RunRows) -> Configuration:
        checked = self._checked(rows)
        if checked.configuration is None:
            raise ConfigurationError([f for f in checked.findings if f.severity == "error"])
        return checked.configuration

    def _checked(self, rows: RunRows) -> Checked:
        return self._t.memo.check(rows.snapshot.repository_id, rows.snapshot.commit, rows.snapshot.files)

    def _known(self, rows: RunRows) -> Configuration | None:
        """What can be known of the configuration where the run ends because it cannot be used."""
        return self._checked(rows).configuration

    def _workflow(self, rows: RunRows) -> Workflow | None:
        known = self._known(rows)
        return known.workflow_for(rows.run.workflow) if known else None

    def _bot(self, rows: RunRows) -> BotFile:
        known = self._known(rows)
        return known.bot if known else BotFile(version=1)


def _hint(step: Step, what: str) -> str:
    return f"{what[0].upper()}{what[1:]} in `{step.mark}`." if step.mark.file else ""


def _outcome_of(error: Exception, begun: Begun) -> Outcome:
    match error:
        case UserError():
            return Failed(error.code, error.message, error.hint, stderr=error.detail)
        case OperatorError():
            return Failed("not_possible_here", error.message, error.mend)
        case Transient():
            return Faulted(str(error), error.retry_after, outage=True)
        case NotFound() | Forbidden():
            return Failed("github_refused", str(error), "The App may lack a permission, or the thing is gone.")
        case BotError():
            return Failed("failed", str(error))
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return Failed("not_possible_here", "the disk is full", "make room under BOT_DATA_DIR")
    _log.exception("step_crashed", run=begun.rows.run.id, step=begun.step.id, exc_info=error)
    return Failed(
        "internal_error", f"the bot itself failed ({type(error).__name__})", "Its operator finds it in the log."
    )
