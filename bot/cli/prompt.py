"""`threadsmith prompt`: what an agent was given, byte for byte, from the store."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from bot.cli.console import err, out
from bot.cli.database import look, run_name
from bot.errors import UserError
from bot.store import Session, runs, snapshots


def prompt(
    run: Annotated[str, typer.Argument(help="A run's id (see `threadsmith runs`).")],
    step: Annotated[str, typer.Argument(help="The step; its newest prompt is printed.")],
    manifest: Annotated[bool, typer.Option("--manifest", help="Print the manifest as JSON instead.")] = False,
) -> None:
    """Print a step's prompt again."""
    text, record = look(lambda session: _find(session, run_name(run), step))
    if manifest:
        out(json.dumps(record, indent=2, ensure_ascii=False))
        return
    out(text)
    err(f"digest {record.get('digest', '')}")


def _find(session: Session, run_id: str, step: str) -> tuple[str, dict[str, object]]:
    if not runs.exists_run(session, run_id):
        raise UserError("unknown_run", f"there is no run {run_id}", "`threadsmith runs` lists them")
    found = runs.rows(session, run_id)
    for attempt in reversed(found.attempts):
        if attempt.step == step and attempt.prompt_blob is not None:
            return snapshots.get_blob(session, attempt.prompt_blob).decode(), attempt.manifest or {}
    steps = sorted({a.step for a in found.attempts if a.prompt_blob is not None})
    known = ", ".join(steps) or "none"
    raise UserError("no_prompt", f"the step {step} of {run_id} asked no model", f"steps with a prompt: {known}")
