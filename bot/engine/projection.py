"""A run as one document, for its steps to read: `.bot/run.json` in the workspace.

It is a projection of the rows: deleting it harms nothing, and nothing of it is ever read back. Values of inputs and of
the environment are no part of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from bot.engine.evidence import reference
from bot.engine.frames import Level, Tree
from bot.engine.run_folder import counts, place_of
from bot.engine.scope import OUTCOMES, context_of, first_paragraph
from bot.store.runs import RunRows
from bot.store.tables import Artifact, Attempt, Export, Gate

#: where it lies in a workspace
RUN_FILE = ".bot/run.json"
#: of the document; raised when a key changes its meaning
VERSION = 1


def projection(rows: RunRows, tree: Tree) -> dict[str, Any]:
    """The run as JSON: intent, run context, every step's newest attempt, gates, artifacts, the export so far.

    Steps are keyed by id, those of inner frames by `<frame's path>/<id>`; `files` is a step's folder below
    `$BOT_RUN_DIR`.
    """
    root = tree.root
    paths = {frame.id: frame.path for frame in rows.frames}
    attempts = {attempt.id: attempt for attempt in rows.attempts}
    return {
        "version": VERSION,
        "run": {"id": rows.run.id, "number": rows.run.number, "state": str(rows.run.state)},
        "intent": {
            "workflow": rows.run.workflow,
            "request": rows.dispatch.request,
            "goal": root.workflow.goal,
            "actor": rows.dispatch.actor,
            "repository": f"{rows.thread.owner}/{rows.thread.name}",
            "issue": rows.dispatch.issue,
        },
        "context": dict(sorted(context_of(rows, tree, root).newest.items())),
        "steps": {name_in(level.frame.path, each.step): _step(level, each) for level, each in _newest(root)},
        "gates": [_gate(gate, attempts[gate.attempt_id], paths) for gate in rows.gates],
        "artifacts": [_artifact(rows, one, attempts, paths) for one in rows.artifacts],
        "export": _export(rows, root),
    }


def name_in(path: str, step: str) -> str:
    """What a step is called among those of all frames: its id, or behind its frame's path."""
    return step if path == "/" else f"{path}/{step}"


def to_bytes(document: dict[str, Any], redact: Callable[[str], str]) -> bytes:
    """The document as a file, without secrets. Texts are cleaned one by one, so that it stays JSON."""
    cleaned = json.dumps(_cleaned(document, redact), ensure_ascii=False, indent=1)
    return f"{cleaned}\n".encode("utf-8", "replace")


def _cleaned(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            return {redact(key): _cleaned(inner, redact) for key, inner in value.items()}
        case list() | tuple():
            return [_cleaned(inner, redact) for inner in value]
        case _:
            return value


def _newest(root: Level) -> Iterator[tuple[Level, Attempt]]:
    """Of every step in every frame the newest attempt that ended, in the order of the frames."""
    for level in (root, *root.below()):
        newest = {each.step: each for each in level.attempts if each.state in OUTCOMES}
        yield from ((level, each) for each in newest.values())


def _step(level: Level, attempt: Attempt) -> dict[str, Any]:
    values: dict[str, Any] = {
        "kind": attempt.kind,
        "attempt": attempt.number,
        "outcome": OUTCOMES[attempt.state],
        "summary": first_paragraph(attempt.output or ""),
        "result": attempt.result,
    }
    if attempt.error:
        values["error"] = f"{attempt.error.get('code', '')}: {attempt.error.get('message', '')}"
    if any(counts(each) for each in level.attempts if each.step == attempt.step):
        values["files"] = place_of(level.frame.path, attempt.step)
    return values


def _gate(gate: Gate, attempt: Attempt, paths: dict[str, str]) -> dict[str, Any]:
    answer = gate.answer or {}
    return {
        "step": name_in(paths[attempt.frame_id], attempt.step),
        "kind": gate.kind,
        "state": str(gate.state),
        "question": gate.question,
        "options": list(gate.options.get("options", {})),
        "deadline": gate.deadline.isoformat() if gate.deadline is not None else None,
        "answer": {key: answer[key] for key in ("answer", "answers", "text", "by", "event") if answer.get(key)} or None,
    }


def _artifact(rows: RunRows, artifact: Artifact, attempts: dict[str, Attempt], paths: dict[str, str]) -> dict[str, Any]:
    attempt = attempts[artifact.attempt_id]
    return {
        "id": artifact.name,
        "kind": artifact.kind,
        "path": artifact.path,
        "uri": reference(rows, artifact),
        "validity": str(artifact.state),
        "step": name_in(paths[attempt.frame_id], attempt.step),
        "attempt": attempt.number,
        "sha256": artifact.blob,
    }


def _export(rows: RunRows, root: Level) -> dict[str, Any] | None:
    newest: Export | None = next((one for one in reversed(rows.exports) if one.frame_id == root.frame.id), None)
    if newest is None:
        return None
    return {
        "revision": newest.revision,
        "state": str(newest.state),
        "commit": rows.snapshot.commit,
        "value": newest.value,
    }
