"""The files that a step produces as evidence, read from its workspace before that is restored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bot.engine.judge import failed_instead
from bot.model.outcome import Done, Outcome
from bot.store.snapshots import BLOB_MAX
from bot.workflows import Step
from bot.workflows.base_step import WorkingStep
from bot.workspace.files import Unreadable, read_file


def with_files(
    step: Step, outcome: Outcome, workspace: Path, redact: Callable[[str], str]
) -> tuple[Outcome, Mapping[str, bytes]]:
    """The outcome with the bytes of what a successful attempt produces, by id; a failure where a file is not as it
    should: missing, no file of the workspace, or more than a blob may hold. Secrets are taken out of texts.
    """
    files: dict[str, bytes] = {}
    for one in step.produces if isinstance(step, WorkingStep) and isinstance(outcome, Done) else ():
        if one.path is None:
            continue
        assert isinstance(outcome, Done)
        try:
            found = read_file(workspace, one.path, BLOB_MAX)
        except (Unreadable, OSError) as error:
            message = f"`{step.id}` produces `{one.id}`, but {error}"
            hint = f"Let the step write `{one.path}`, a plain file of its workspace."
            return failed_instead(outcome, "artifact_missing", message, hint), {}
        if found.size > BLOB_MAX:
            message = f"`{one.path}`, which `{step.id}` produces, has {found.size:,} bytes; {BLOB_MAX:,} are the most"
            return failed_instead(outcome, "artifact_too_large", message, "Pack it, or produce a part of it."), {}
        files[one.id] = _cleaned(found.raw(), redact)
    return outcome, files


def _cleaned(data: bytes, redact: Callable[[str], str]) -> bytes:
    try:
        text = data.decode()
    except UnicodeDecodeError:  # what is no text has no secrets that could be found
        return data
    clean = redact(text)
    return data if clean == text else clean.encode()
