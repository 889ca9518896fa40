"""Artifacts and exports: registered with the outcome that made them, stale when the work behind them is done again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.engine.frames import Level
from bot.model.state import ArtifactState, AttemptState, follow
from bot.store import Session, snapshots
from bot.store.runs import RunRows
from bot.store.tables import Artifact, Attempt, Export
from bot.workflows import Step
from bot.workflows.base_step import WorkingStep


@dataclass(frozen=True, slots=True)
class Exported:
    """What a workflow's export is now: a value, or why there is none (`code` is stable)."""

    value: Any = None
    code: str = ""
    message: str = ""
    hint: str = ""


def register(
    session: Session,
    rows: RunRows,
    level: Level,
    step: Step,
    attempt: Attempt,
    files: Mapping[str, bytes],
    now: datetime,
) -> None:
    """Keep what a successful attempt produces; `files` holds the bytes of those with a path, by id."""
    for one in step.produces if isinstance(step, WorkingStep) else ():
        for older in rows.artifacts:
            if older.name == one.id and older.frame_id == level.frame.id and older.state is not _OLD:
                older.state = follow(older.state, _OLD)
                session.add(older)
        data = files[one.id] if one.path is not None else _output(attempt)
        digest = snapshots.put_blob(session, data, now) if data is not None else attempt.streams.get("output", "")
        if not digest:
            digest = snapshots.put_blob(session, b"", now)
        row = Artifact(
            run_id=rows.run.id,
            attempt_id=attempt.id,
            frame_id=level.frame.id,
            name=one.id,
            kind=one.kind,
            path=one.path,
            blob=digest,
        )
        rows.artifacts.append(row)
        session.add(row)


_OLD = ArtifactState.SUPERSEDED


def _output(attempt: Attempt) -> bytes | None:
    """The output's bytes where the row holds them whole; None where they are a blob already."""
    if attempt.streams.get("output"):
        return None
    return (attempt.output or "").encode("utf-8", "replace")


def outdate(session: Session, rows: RunRows, level: Level, target: str) -> None:
    """The work is sent back to `target`: what was made since it last began counts no longer."""
    begun = [attempt for attempt in level.attempts if attempt.step == target]
    if not begun:
        return
    visit = begun[-1].iteration
    since = next(attempt.id for attempt in begun if attempt.iteration == visit)
    redone = {attempt.id for attempt in rows.attempts if attempt.id >= since}
    for artifact in rows.artifacts:
        if artifact.attempt_id in redone and artifact.state is ArtifactState.CURRENT:
            artifact.state = follow(artifact.state, ArtifactState.STALE)
            session.add(artifact)
    for export in rows.exports:
        if export.state is ArtifactState.CURRENT and redone.intersection(export.attempts):
            export.state = follow(export.state, ArtifactState.STALE)
            session.add(export)


def publish(session: Session, rows: RunRows, level: Level, now: datetime) -> None:
    """A new revision of the export of `level`'s workflow where everything it is made from is there and has changed."""
    export = level.workflow.export
    if export is None or not (level.parent is None or level.is_used):
        return
    found = _sources(rows, level, export.sources)
    if found is None:
        return
    value, attempts = found
    current = _newest(rows, level)
    if current is not None and current.state is ArtifactState.CURRENT and current.attempts == attempts:
        return
    if export.checker is not None and export.checker.check(value):
        return
    for older in rows.exports:
        if older.frame_id == level.frame.id and older.state is not _OLD:
            older.state = follow(older.state, _OLD)
            session.add(older)
    row = Export(
        run_id=rows.run.id,
        frame_id=level.frame.id,
        revision=len(rows.exports) + 1,
        value=value,
        attempts=attempts,
        made_at=now,
    )
    rows.exports.append(row)
    session.add(row)


def exported(rows: RunRows, level: Level) -> Exported:
    """The export of a workflow that ended well. Never one that is not current."""
    export = level.workflow.export
    if export is None:
        return Exported()
    newest = _newest(rows, level)
    if newest is not None and newest.state is ArtifactState.CURRENT:
        return Exported(newest.value)
    names = ", ".join(f"`{source}`" for source in export.sources)
    if newest is not None:
        hint = f"Run {names} again, or let no route lead past it after a rework."
        return Exported(code="export_stale", message=f"the work behind the export was sent back: {names}", hint=hint)
    found = _sources(rows, level, export.sources)
    if found is None:
        if not export.required:
            return Exported()
        hint = f"Let every route to the end go through {names}, or set `required: false`."
        return Exported(code="export_missing", message=f"the workflow ended without its export from {names}", hint=hint)
    violations = export.checker.check(found[0]) if export.checker is not None else []
    message = "the export does not fit: " + "; ".join(str(one) for one in violations[:3])
    return Exported(code="result_mismatch", message=message, hint=f"Mend {names}, or the export's schema.")


def _newest(rows: RunRows, level: Level) -> Export | None:
    return next((one for one in reversed(rows.exports) if one.frame_id == level.frame.id), None)


def _sources(rows: RunRows, level: Level, names: Iterable[str]) -> tuple[Any, list[str]] | None:
    """The value made from the newest success of each step and the newest current artifact of each id; None without."""
    values: dict[str, Any] = {}
    attempts: list[str] = []
    for name in names:
        ended = [each for each in level.attempts if each.step == name and each.state is AttemptState.SUCCESS]
        if ended:
            values[name] = ended[-1].result if ended[-1].result is not None else ended[-1].output
            attempts.append(ended[-1].id)
            continue
        kept = [one for one in rows.artifacts if one.name == name and one.frame_id == level.frame.id]
        if not kept or kept[-1].state is not ArtifactState.CURRENT:
            return None
        values[name] = {"uri": f"artifact:{rows.run.id}/{kept[-1].id}", "kind": kept[-1].kind}
        attempts.append(kept[-1].attempt_id)
    return (next(iter(values.values())) if len(values) == 1 else values), attempts
