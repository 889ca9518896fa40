"""What a run and the workflows that it uses are given: bound inputs, files with their bytes kept, names of secrets.

A frame that begins a workflow keeps the facts of its files in its row (`Frame.given`), their content as blobs, so that
every step and every machine is given the same bytes. They lie at `.bot/inputs/<name>` in the workspace, those of a
workflow that `uses` runs at `.bot/inputs/<frame>/<name>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bot.engine.frames import Level
from bot.engine.run_folder import place_of
from bot.errors import UserError
from bot.model.outcome import Done, Failed, Outcome
from bot.store import Session, snapshots
from bot.store.runs import RunRows
from bot.store.tables import Frame
from bot.workflows import Configuration, InputViolation, Step, Workflow
from bot.workflows.readings import readings
from bot.workflows.signature import Declared, bind
from bot.workflows.step import UsesStep
from bot.workflows.values import fill
from bot.workspace.staging import (
    BYTES_SLOT_MAX,
    FOLDER,
    Fetch,
    FileFacts,
    StagedFile,
    fetch_inputs,
    unaccepted,
)

#: opens the repository at the run's commit, with what steps left in it
Checkout = Callable[[], AbstractAsyncContextManager[Path]]

NOTHING: Mapping[str, bytes] = MappingProxyType({})


def beginning(level: Level) -> Level:
    """The frame that begins the workflow which `level` is in: it is what inputs are given to."""
    return [*level.lineage(within_workflow=True)][-1]


def inputs(rows: RunRows, level: Level, content: Mapping[str, bytes] = NOTHING) -> dict[str, Any]:
    """The namespace `inputs` of a frame by flat key: a secret is its name, a file its path, with `<name>.<slot>`.

    `content` is the bytes of files by digest, where a template names them.
    """
    top = beginning(level)
    given: Mapping[str, Any] = rows.dispatch.inputs if top.parent is None else top.frame.given.get("inputs", {})
    values = dict(given)
    for name, facts in files_of(top.frame).items():
        values |= facts.values(name, path_of(top.frame, name), content.get(facts.sha256_hex))
    return values


def files_of(frame: Frame) -> dict[str, FileFacts]:
    """The files of a frame by the names of their inputs."""
    return {name: FileFacts(**facts) for name, facts in frame.given.get("files", {}).items()}


def path_of(frame: Frame, name: str) -> str:
    """Where the file of an input lies in the workspace; no other frame's lies there."""
    return f"{FOLDER}/{place_of(frame.path, name)}"


def seen_files(level: Level) -> dict[str, str]:
    """The files of a frame and of all that it is in, by path: the digests of their content."""
    return {
        path_of(one.frame, name): facts.sha256_hex
        for one in level.lineage()
        for name, facts in files_of(one.frame).items()
    }


def named_content(step: Step, level: Level, configuration: Configuration | None) -> set[str]:
    """The digests of the files whose `bytes` the step's templates or bound arguments name, where they are small."""
    agents = configuration.agents if configuration is not None else {}
    files = files_of(beginning(level).frame)
    names = {one.path[1] for one in readings(step, agents) if one.path[0] == "inputs" and one.path[2:] == ("bytes",)}
    return {files[name].sha256_hex for name in names if name in files and files[name].size_bytes <= BYTES_SLOT_MAX}


def names_file(step: Step, workflow: Workflow, configuration: Configuration) -> bool:
    """Whether a step's templates name a file of the run's inputs."""
    files = {name for name, one in workflow.inputs.items() if one.type == "file"}
    return any(
        one.path[0] == "inputs" and len(one.path) > 1 and one.path[1] in files
        for one in readings(step, configuration.agents)
    )


# -- what is given to a workflow that is used -------------------------------------------------------------------------


def bound_inputs(step: UsesStep, scope: Mapping[str, Any], used: Workflow) -> dict[str, Any]:
    """The typed inputs of a workflow that is used, held against its signature. Raises UserError for what is wrong."""
    bound = bind(used.inputs, fill(step, ("inputs",), step.inputs, scope).value)
    if bound.violations:
        raise refused(step, bound.violations)
    return dict(bound.values)


def refused(step: UsesStep, violations: Sequence[InputViolation]) -> UserError:
    """What is told where a used workflow cannot be given what the step names."""
    message = "; ".join(one.message for one in violations)
    return UserError(violations[0].kind, f"`{step.uses}` cannot start: {message}", "Mend the step's `inputs`.")


def handed_on(level: Level, used: Workflow, bound: Mapping[str, Any]) -> dict[str, FileFacts]:
    """The files among a used workflow's inputs that are files of the caller's own inputs: nothing is read again."""
    top = beginning(level).frame
    own = {path_of(top, name): facts for name, facts in files_of(top).items()}
    return {name: own[source] for name, source in _sources(used.inputs, bound) if source in own}


def to_fetch(level: Level, used: Workflow, bound: Mapping[str, Any]) -> dict[str, Declared]:
    """The file inputs of a used workflow that have to be read before it can begin."""
    handed = handed_on(level, used, bound)
    return {name: used.inputs[name] for name, _ in _sources(used.inputs, bound) if name not in handed}


def _sources(declared: Mapping[str, Declared], bound: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((name, str(bound[name])) for name, one in declared.items() if one.type == "file" and name in bound)


def check_handed(step: UsesStep, used: Workflow, handed: Mapping[str, FileFacts]) -> None:
    """Hold files that are handed on against what the used workflow accepts. Raises UserError `file`."""
    reasons = {name: unaccepted(facts, used.inputs[name]) for name, facts in handed.items()}
    violations = [InputViolation(name, "file", f"`{name}`: {reason}") for name, reason in reasons.items() if reason]
    if violations:
        raise refused(step, violations)


# -- fetching ---------------------------------------------------------------------------------------------------------


async def fetched(
    declared: Mapping[str, Declared], bound: Mapping[str, Any], *, checkout: Checkout, fetch: Fetch
) -> tuple[tuple[StagedFile, ...], tuple[InputViolation, ...]]:
    """The files that inputs name, and all that is wrong with any; the repository is opened only for paths in it."""
    async with AsyncExitStack() as stack:
        place: Path | None = None
        if any("://" not in source for _, source in _sources(declared, bound)):
            place = await stack.enter_async_context(checkout())
        return await fetch_inputs(declared, bound, checkout=place, fetch=fetch)


async def fetched_for_use(
    step: UsesStep, level: Level, scope: Mapping[str, Any], used: Workflow, *, checkout: Checkout, fetch: Fetch
) -> tuple[Outcome, tuple[StagedFile, ...]]:
    """What a `uses` step has to read before its workflow begins; a failure where a file does not do.

    Raises UserError where its inputs have no value or do not fit.
    """
    bound = bound_inputs(step, scope, used)
    files, violations = await fetched(to_fetch(level, used, bound), bound, checkout=checkout, fetch=fetch)
    if violations:
        error = refused(step, violations)
        return Failed(error.code, error.message, error.hint), ()
    return Done(), files


# -- rows -------------------------------------------------------------------------------------------------------------


def keep(
    session: Session,
    frame: Frame,
    files: Sequence[StagedFile],
    now: datetime,
    handed: Mapping[str, FileFacts] = MappingProxyType({}),
) -> None:
    """Keep the files that a workflow is given with the frame that begins it; `handed` are kept already elsewhere."""
    for file in files:
        snapshots.put_blob(session, file.content, now)
    facts = {**handed, **{file.name: file.facts for file in files}}
    frame.given = {**frame.given, "files": {name: asdict(one) for name, one in facts.items()}}
    session.add(frame)


def is_kept(frame: Frame) -> bool:
    """Whether the files of a frame have been fetched."""
    return "files" in frame.given


def told(violations: Sequence[InputViolation]) -> str:
    """Why a run cannot begin: the class of what is wrong, then all of it."""
    return f"{violations[0].kind}: " + "; ".join(" ".join(one.message.split()) for one in violations)


# -- secrets ----------------------------------------------------------------------------------------------------------


def secret_names(workflow: Workflow) -> frozenset[str]:
    """The inputs of a workflow that are secrets."""
    return frozenset(name for name, one in workflow.inputs.items() if one.type == "secret")


class SecretInputs(Mapping[str, Any]):
    """The namespace `inputs` where a step uses it: of a secret the value, read when a template names it.

    Rows and conditions have its name alone.
    """

    def __init__(self, values: Mapping[str, Any], names: frozenset[str], read: Callable[[str], str]) -> None:
        self._values, self._names, self._read = values, names, read

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        return self._read(value) if name in self._names else value

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
