"""What the templates of one attempt are filled from: the run's rows, and the artifacts that the step names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bot.engine.frames import Level, Tree
from bot.engine.run_inputs import named_content
from bot.engine.scope import scope, visible_artifacts
from bot.model.state import ArtifactState
from bot.store import Session, snapshots
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import Configuration, Step
from bot.workflows.base_step import BaseStep
from bot.workflows.node import Node
from bot.workflows.step import AskingStep

#: bytes of an artifact whose content templates may name
CONTENT_MAX = 256 * 1024


def rendering(
    session: Session,
    rows: RunRows,
    tree: Tree,
    level: Level,
    step: Step,
    attempt: Attempt,
    configuration: Configuration | None = None,
) -> dict[str, Any]:
    """The namespaces of one attempt; see `scope`. Contents are read only where a template of the step names them.

    `configuration` is needed for steps that ask an agent: its own prompt has templates too.
    """
    content = _contents(session, rows, level, named(step, configuration))
    files = _files(session, named_content(step, level, configuration))
    return scope(rows, tree, level, attempt=attempt.number, iteration=attempt.iteration, content=content, files=files)


def named(step: Step, configuration: Configuration | None = None) -> frozenset[str]:
    """The artifacts whose content the step's templates name."""
    nodes: list[Node] = [step]
    if isinstance(step, AskingStep) and configuration is not None:
        nodes.append(configuration.agents[step.asked])
    return frozenset(
        token.path[1]
        for node in _every(nodes)
        for _, template in node.templates()
        for token in template.references
        if token.path[0] == "artifacts" and token.path[2:] == ("content",)
    )


def _every(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        # steps within are rendered when it is their turn
        yield from _every(part for part in node.parts() if not isinstance(part, BaseStep))


def _files(session: Session, digests: set[str]) -> dict[str, bytes]:
    return {digest: snapshots.get_blob(session, digest) for digest in digests}


def _contents(session: Session, rows: RunRows, level: Level, names: frozenset[str]) -> dict[str, str]:
    """By blob: the text of the current artifacts of these names that are small enough."""
    if not names:
        return {}
    found = visible_artifacts(rows, level)
    wanted = {row.blob for name, row in found.items() if name in names and row.state is ArtifactState.CURRENT}
    blobs = snapshots.small_blobs(session, wanted, CONTENT_MAX)
    return {digest: data.decode("utf-8", "replace") for digest, data in blobs.items()}
