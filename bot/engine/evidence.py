"""Artifacts and exports: registered with the outcome that made them, stale when the work behind them is sent back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.engine.frames import Level, returned
from bot.model.state import ArtifactState, AttemptState, follow
from bot.store import Session, snapshots
from bot.store.runs import RunRows
from bot.store.tables import Artifact, Attempt, Export
from bot.workflows import Step
from bot.workflows.base_step import WorkingStep
from bot.workflows.results import BYTES_MAX

_CURRENT, _STALE, _OLD = ArtifactState.CURRENT, ArtifactState.STALE, ArtifactState.SUPERSEDED
#: which turn of an attempt opened a frame, in its path; `#` of a key is quoted there
_TURN = re.compile(r"#[0-9.]+(?=/|$)")


@dataclass(frozen=True, slots=True)
class Exported:
    """What a workflow's export is now: a value, or why there is none (`code` is stable)."""

    value: Any = None
    code: str = ""
    message: str = ""
    hint: str = ""


# -- artifacts ---------------------------------------------------------------------------------------------------------


def register(
    session: Session,
    rows: RunRows,
    level: Level,
    step: Step,
    attempt: Attempt,
    files: Mapping[str, bytes],
    now: datetime,
) -> None:
    """Keep what a successful attempt produces; `files` holds the bytes of those with a path, by id.

    What an earlier attempt made in the same place is superseded. Of the whole of an `each` no file is kept: those of
    its elements are.
    """
    for one in step.produces if isinstance(step, WorkingStep) else ():
        if one.path is not None and one.id not in files:
            continue
        for older in rows.artifacts:
            if older.name == one.id and older.state is not _OLD and _place(rows, older) == _turnless(level.frame.path):
                _become(session, older, _OLD)
        data = files[one.id] if one.path is not None else None
        row = Artifact(
            run_id=rows.run.id,
            attempt_id=attempt.id,
            frame_id=level.frame.id,
            name=one.id,
            kind=one.kind,
            path=one.path,
            blob=_output(session, attempt, now) if data is None else snapshots.put_blob(session, data, now),
        )
        rows.artifacts.append(row)
        session.add(row)


def _output(session: Session, attempt: Attempt, now: datetime) -> str:
    """The digest of the whole output."""
    return attempt.streams.get("output") or snapshots.put_blob(session, b"", now)


def _place(rows: RunRows, artifact: Artifact) -> str:
    """Where in the run an artifact was made, whichever time it was."""
    return next((_turnless(frame.path) for frame in rows.frames if frame.id == artifact.frame_id), "")


def _turnless(path: str) -> str:
    return _TURN.sub("", path)


def reference(rows: RunRows, artifact: Artifact) -> str:
    """An artifact's `uri`."""
    return f"artifact:{rows.run.id}/{artifact.id}"


# -- work that is sent back --------------------------------------------------------------------------------------------


def outdate(session: Session, rows: RunRows, level: Level, attempt: Attempt) -> None:
    """The route of `attempt` sends the work back: what was made since its target last began counts no longer."""
    redone = _redone(level, level.attempts.index(attempt))
    for artifact in rows.artifacts:
        if artifact.attempt_id in redone and artifact.state is _CURRENT:
            _become(session, artifact, _STALE)
    for export in rows.exports:
        if export.state is _CURRENT and redone.intersection(export.attempts):
            _become(session, export, _STALE)


def outdated(level: Level) -> set[str]:
    """The attempts of a frame, and of those inside, whose work was sent back."""
    found: set[str] = set()
    for place, attempt in enumerate(level.attempts):
        if attempt.route.get("why") == "rework":
            found |= _redone(level, place)
    return found


def _redone(level: Level, place: int) -> set[str]:
    """What is done again because of the attempt at `place`. Frames beside this one go on as they are."""
    target, before = level.attempts[place].route["to"], level.attempts[: place + 1]
    begun = [index for index, each in enumerate(before) if each.step == target]
    if not begun:
        return set()
    visit = before[begun[-1]].iteration
    since = next(index for index in begun if before[index].iteration == visit)
    redone = {each.id for each in before[since:]}
    inside = [one for each in before[since:] for opened in level.children.get(each.id, ()) for one in _whole(opened)]
    return redone | {each.id for one in inside for each in one.attempts}


def _whole(level: Level) -> Iterator[Level]:
    yield level
    yield from level.below()


def _become(session: Session, row: Artifact | Export, state: ArtifactState) -> None:
    row.state = follow(row.state, state)
    session.add(row)


# -- exports -----------------------------------------------------------------------------------------------------------


def publish(session: Session, rows: RunRows, level: Level, now: datetime, most: int = BYTES_MAX) -> None:
    """A new revision of the export of `level`'s workflow where everything it is made from is there and has changed.

    What does not fit the schema, of at most `most` bytes, is not published, and what was before is stale.
    """
    export = level.workflow.export
    if export is None or not (level.parent is None or level.is_used):
        return
    found = _sources(rows, level, export.sources)
    if found is None:
        return
    value, attempts = found
    before = _newest(rows, level)
    if before is not None and before.state is _CURRENT and before.attempts == attempts:
        return
    if export.checker is not None and export.checker.check(value, max_bytes=most):
        if before is not None and before.state is _CURRENT:
            _become(session, before, _STALE)
        return
    for older in rows.exports:
        if older.frame_id == level.frame.id and older.state is not _OLD:
            _become(session, older, _OLD)
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


def exported(rows: RunRows, level: Level, most: int = BYTES_MAX) -> Exported:
    """The export of a workflow that ended well. Never one that is not current."""
    export = level.workflow.export
    if export is None:
        return Exported()
    newest = _newest(rows, level)
    if newest is not None and newest.state is _CURRENT:
        return Exported(newest.value)
    names = ", ".join(f"`{source}`" for source in export.sources)
    found = _sources(rows, level, export.sources)
    if found is not None and export.checker is not None:
        violations = export.checker.check(found[0], max_bytes=most)
        if violations:  # whatever `required` says
            message = "the export does not fit: " + "; ".join(str(one) for one in violations[:3])
            return Exported(code="result_mismatch", message=message, hint=f"Mend {names}, or the export's schema.")
    if not export.required:
        return Exported()
    if newest is not None:
        hint = f"Run {names} again, or let no route lead past it after a rework."
        return Exported(code="export_stale", message=f"the work behind the export was sent back: {names}", hint=hint)
    hint = f"Let every route to the end go through {names}, or set `required: false`."
    return Exported(code="export_missing", message=f"the workflow ended without its export from {names}", hint=hint)


def restate(rows: RunRows, root: Level) -> None:
    """Set the states of artifacts and exports to what the attempts at hand leave of them.

    For rows that were taken from a longer walk: what that went on to do has not happened here.
    """
    levels = [*_whole(root)]
    back = {attempt for level in levels for attempt in outdated(level)}
    newer: set[tuple[str, str]] = set()
    for artifact in reversed(rows.artifacts):
        place = (artifact.name, _place(rows, artifact))
        artifact.state = _OLD if place in newer else _STALE if artifact.attempt_id in back else _CURRENT
        newer.add(place)
    for level in levels:
        own = [one for one in rows.exports if one.frame_id == level.frame.id]
        for one in own:
            one.state = _OLD
        if not own or level.workflow.export is None:
            continue
        found = _sources(rows, level, level.workflow.export.sources)
        # what no longer is what it was made from did not fit its schema
        changed = found is not None and found[1] != own[-1].attempts
        own[-1].state = _STALE if changed or back.intersection(own[-1].attempts) else _CURRENT


def _newest(rows: RunRows, level: Level) -> Export | None:
    return next((one for one in reversed(rows.exports) if one.frame_id == level.frame.id), None)


def _sources(rows: RunRows, level: Level, names: Iterable[str]) -> tuple[Any, list[str]] | None:
    """The value made from the newest success of each step and the newest artifact of each id; None where one lacks.

    Work that was sent back does not count, nor does an artifact that is not current.
    """
    back, frames = outdated(level), _frames(level)
    values: dict[str, Any] = {}
    attempts: list[str] = []
    for name in names:
        ended = [each for each in level.attempts if each.step == name and each.state is AttemptState.SUCCESS]
        if ended and ended[-1].id not in back:
            values[name] = returned(ended[-1])
            attempts.append(ended[-1].id)
            continue
        kept = [one for one in rows.artifacts if one.name == name and one.frame_id in frames]
        if ended or not kept or kept[-1].state is not _CURRENT:
            return None
        values[name] = {"uri": reference(rows, kept[-1]), "kind": kept[-1].kind}
        attempts.append(kept[-1].attempt_id)
    return (next(iter(values.values())) if len(values) == 1 else values), attempts


def _frames(level: Level) -> set[str]:
    """The frames of a workflow, without those of workflows that it uses."""
    found = {level.frame.id}
    for opened in level.children.values():
        for one in opened:
            if not one.is_used:
                found |= _frames(one)
    return found
