"""`threadsmith run`: a workflow on a thread from a file, on this machine. Nothing is posted anywhere."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from bot.cli import given as on_the_line
from bot.cli.around import Local
from bot.cli.console import console, err, out, settings
from bot.cli.files import read_files
from bot.cli.local import ThreadFile, keep, rows
from bot.context import ThreadSnapshot
from bot.engine import commit
from bot.engine.around import Place
from bot.engine.commit import Begun, Performed, Terms
from bot.engine.grant import environment, own_variables
from bot.engine.graph import End
from bot.engine.performer import Performer
from bot.engine.projection import RUN_FILE, projection, to_bytes
from bot.engine.rendering import rendering
from bot.engine.run_folder import RunFolder
from bot.engine.run_inputs import SecretInputs, fetched_for_use, secret_names, seen_files
from bot.errors import NotFound, UserError
from bot.made import providers
from bot.model.outcome import Done, Failed, Faulted, Outcome
from bot.model.state import GateState, RunState
from bot.publish import Redactor
from bot.runners import Runners
from bot.settings import Settings
from bot.store import Store, open_store, runs
from bot.store.runs import RunRows
from bot.workflows import Configuration, Step, Workflow, builtin_files, load
from bot.workflows.resources import secret_scope
from bot.workflows.step import UsesStep
from bot.workspace import Sandbox, Workspace, open_sandbox
from bot.workspace.files import write_file
from bot.workspace.staging import fetch_inputs, stage


def run(
    workflow: Annotated[str, typer.Argument(help="Agent or workflow of the configuration.")],
    thread: Annotated[Path, typer.Option(help="The thread: a JSON file in GitHub's REST shapes.")],
    config: Annotated[
        Path, typer.Option(help="A repository; its files are configuration and workspace.", exists=True)
    ] = Path(),
    param: Annotated[list[str] | None, typer.Option(help="key=value, repeatable.")] = None,
    given: Annotated[list[str] | None, typer.Option("--input", help="key=value, repeatable.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask no model: print what it would be given.")] = False,
) -> None:
    """Run a workflow here and print what it says; with --dry-run print the prompts instead of asking models."""
    found, _ = settings()
    file = ThreadFile.read(thread)
    files, findings = read_files(config)
    if findings:
        raise UserError(findings[0].code, f"{findings[0].file}: {findings[0].message}", findings[0].hint)
    configuration = load(files, builtin_files())
    chosen = configuration.workflow_for(workflow)
    if chosen is None:
        known = ", ".join(configuration.names())
        raise UserError(
            "unknown_workflow", f"`{workflow}` is neither an agent nor a workflow here", f"there are: {known}"
        )
    inputs = on_the_line.inputs(on_the_line.words(given or ()), chosen)
    transient = rows(file, workflow, on_the_line.params(param or (), chosen), files, inputs)
    if not asyncio.run(_play(found, file, configuration, chosen, transient, config, dry_run)):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Local:
    """What the steps of one local run share."""

    settings: Settings
    file: ThreadFile
    configuration: Configuration
    workflow: Workflow
    rows: RunRows
    snapshot: ThreadSnapshot
    sandbox: Sandbox
    runners: Runners
    workspace: Workspace
    dry_run: bool


async def _play(
    found: Settings,
    file: ThreadFile,
    configuration: Configuration,
    workflow: Workflow,
    transient: RunRows,
    config: Path,
    dry_run: bool,
) -> bool:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="threadsmith-", dir=_real_tmp())))
        sandbox = await open_sandbox(found.sandbox)
        runners = await stack.enter_async_context(Runners(providers(found), sandbox, found.default_model or None))
        bot = configuration.bot
        local = _Local(
            found,
            file,
            configuration,
            workflow,
            transient,
            await file.snapshot(bot.history_comment_count, bot.mention or ("@bot",)),
            sandbox,
            runners,
            await asyncio.to_thread(_copy, config, folder / "workspace"),
            dry_run,
        )
        return await _walk(local, folder)


async def _walk(local: _Local, folder: Path) -> bool:
    """Every step as the engine has it, on a database of this run's own. Whether the run succeeded."""
    store = open_store(f"sqlite:///{folder / 'run.db'}")
    ends: list[End] = []
    terms = Terms(
        local.configuration,
        local.workflow,
        local.configuration.budget_for(local.workflow),
        local.settings.max_usd_day,
        lambda _session, _rows, end: ends.append(end),
        _nothing,
        result_bytes=local.settings.result_max_bytes,
    )
    run_id = local.rows.run.id
    around = Local(
        local.settings,
        local.file,
        local.configuration,
        local.snapshot,
        local.sandbox,
        local.runners,
        store,
        Redactor(local.settings.secrets_with(os.environ)),
        local.dry_run,
    )
    performer = Performer(around, terms, judging=not local.dry_run)
    left = _Left(store, RunFolder(folder, around.bench.redact), around, terms)
    try:
        await store.write(lambda session: keep(session, local.rows))
        await _give(local, store)
        waiting = list((await store.write(lambda session: commit.advance(session, run_id, terms, _now()))).begun)
        while waiting:
            begun = waiting.pop(0)
            step = begun.step
            err(f"{step.id} ({step.kind}) …")
            with console(stderr=True).status(f"{step.id} is under way"):
                performed = await _step(local, begun, performer, left)
            _tell(step, performed.outcome, around.redactor)
            advance = await store.write(
                partial(commit.record, begun=begun, performed=performed, terms=terms, now=_now())
            )
            waiting.extend(advance.begun)
        rows = await store.read(lambda session: runs.rows(session, run_id))
    finally:
        await store.close()
    return _told_end(rows, ends)


async def _give(local: _Local, store: Store) -> None:
    """Read the files that the run is given. Raises UserError with all that is wrong with any of them."""
    files, violations = await fetch_inputs(
        local.workflow.inputs, local.rows.dispatch.inputs, checkout=local.workspace.path, fetch=_nowhere
    )
    if violations:
        raise on_the_line.refused(violations, local.workflow)
    await store.write(lambda session: commit.keep_inputs(session, local.rows.run.id, files, _now()))


async def _nowhere(url: str) -> NoReturn:
    raise NotFound("a local run has no GitHub: name a file of the folder")


def _nothing(*_: object) -> None:
    """A step's own comment: its output is printed already."""


def _told_end(rows: RunRows, ends: list[End]) -> bool:
    """Say what no step has said yet: the message of an `end`, or why the run stopped."""
    last = rows.attempts[-1] if rows.attempts else None
    if not ends:  # a fault that the service would wait out, or what it would wait for
        waited_for = {gate.attempt_id for gate in rows.gates if gate.state is GateState.OPEN}
        for one in rows.attempts:
            if one.id in waited_for:
                err(f"{one.step} ({one.kind}) waits, and a local run ends here; `threadsmith simulate` goes on")
        return False
    if ends[0].state is not RunState.SUCCEEDED:
        if last is None or not last.error or last.route.get("code"):
            err(ends[0].reason)
        return False
    if last is not None and last.kind == "end" and last.output:
        out(last.output.rstrip("\n"))
    return True


def _now() -> datetime:
    return datetime.now(UTC)


def _real_tmp() -> str:
    """Commands are given real paths; on some systems the temporary folder is a link."""
    return os.path.realpath(tempfile.gettempdir())


def _copy(config: Path, target: Path) -> Workspace:
    """A copy to work in: a step must not touch the files it was started from."""
    top = (config.parent if config.is_file() else config).resolve()
    if top.name == ".github":  # as `read_files` takes it
        top = top.parent
    skipped = shutil.ignore_patterns(".venv", "node_modules", "__pycache__")
    shutil.copytree(top, target, symlinks=True, ignore=skipped)
    return Workspace(target, None, "read")


@dataclass(frozen=True, slots=True)
class _Left:
    """What the steps before one left."""

    store: Store
    folder: RunFolder
    around: Local
    terms: Terms

    async def lay_out(self, begun: Begun, workspace: Workspace) -> Path:
        """Write it down where the step finds it: the folder of what each left."""
        document = projection(begun.rows, begun.tree)
        write_file(workspace.path, RUN_FILE, to_bytes(document, self.around.bench.redact), force=True)
        return await self.folder.lay_out(begun.tree, self.around.blob)

    async def values(self, begun: Begun) -> dict[str, Any]:
        """What its templates are filled from."""
        configuration = self.terms.configuration
        values = await self.store.read(
            lambda session: rendering(
                session, begun.rows, begun.tree, begun.level, begun.step, begun.attempt, configuration
            )
        )
        return values | {
            "inputs": SecretInputs(values["inputs"], secret_names(begun.level.workflow), self.around.secret),
            "resources": {name: one.shown for name, one in configuration.bot.resources.items()},
            "secrets": secret_scope(self.around.secret),
        }

    async def files(self, begun: Begun, workspace: Workspace) -> None:
        """Put the files where the step finds them."""
        files = {path: await self.around.blob(digest) for path, digest in seen_files(begun.level).items()}
        await asyncio.to_thread(stage, workspace.path, files)

    async def use(self, begun: Begun, workspace: Workspace) -> Performed:
        """Read the files of a workflow that is about to be used."""
        assert isinstance(begun.step, UsesStep)
        used = self.terms.find(begun.step.uses)
        assert used is not None, "a workflow that is not there is refused at load"
        values = await self.store.read(
            lambda session: rendering(session, begun.rows, begun.tree, begun.level, begun.step, begun.attempt)
        )
        outcome, files = await fetched_for_use(
            begun.step, begun.level, values, used, checkout=lambda: nullcontext(workspace.path), fetch=_nowhere
        )
        return Performed(outcome, given=files)


async def _step(local: _Local, begun: Begun, performer: Performer, left: _Left) -> Performed:
    step, rows = begun.step, begun.rows
    names = local.configuration.bot.workspace.env
    shared = environment(names, local.settings.export_env, os.environ)
    folder = await left.lay_out(begun, local.workspace)
    env = {**shared, **own_variables(rows, step, local.workspace, folder)}
    try:
        await left.files(begun, local.workspace)
        if isinstance(step, UsesStep):
            return await left.use(begun, local.workspace)
        values = await left.values(begun)
        return await performer.perform(begun, Place(local.workspace, env, values, (folder,)), step.timeout)
    except UserError as error:
        return Performed(Failed(error.code, error.message, error.hint, stderr=error.detail))


def _tell(step: Step, outcome: Outcome, redact: Callable[[str], str]) -> None:
    """Print what a step came to: its output, or why there is none, without secrets."""
    if isinstance(outcome, Done):
        if outcome.output:
            out(redact(outcome.output).rstrip("\n"))
        return
    if isinstance(outcome, Failed):
        err(redact(f"{step.id} failed: {outcome.code}: {outcome.message}"))
        for line in (outcome.stderr, outcome.hint):
            if line:
                err(redact(line))
    elif isinstance(outcome, Faulted):
        err(redact(f"{step.id}: {outcome.message}; try again later"))
