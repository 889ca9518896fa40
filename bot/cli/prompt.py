"""`threadsmith prompt`: what an agent was given, byte for byte, from the store."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from bot.cli.console import err, out
from bot.cli.database import look
from bot.errors import UserError
from bot.store import Session, runs, snapshots


def prompt(
    run: Annotated[str, typer.Argument(help="A run: its id, OWNER/NAME#1:r3, or r3 where that is unambiguous.")],
    step: Annotated[str, typer.Argument(help="The step; its newest prompt is printed.")],
    manifest: Annotated[bool, typer.Option("--manifest", help="Print the manifest as JSON instead.")] = False,
) -> None:
    """Print a step's prompt again."""
    text, record = look(lambda session: _find(session, run.strip(), step))
    if manifest:
        out(json.dumps(record, indent=2, ensure_ascii=False))
        return
    out(text)
    err(f"digest {record.get('digest', '')}")


def _find(session: Session, name: str, step: str) -> tuple[str, dict[str, object]]:
    meant = runs.called(session, name)
    if not meant:
        raise UserError("unknown_run", f"there is no run {name}", "`threadsmith runs` lists them")
    if len(meant) > 1:
        each = ", ".join(f"{t.owner}/{t.name}#{t.number}:r{r.number}" for r, t in meant[:5])
        raise UserError("ambiguous_run", f"several threads have a run {name}", f"say which: {each}")
    found = runs.rows(session, meant[0][0].id)
    if found.run.purged_at is not None:
        raise UserError(
            "purged",
            f"the prompts of {name} are kept no longer: they went on {found.run.purged_at:%d %B %Y}",
            "BOT_KEEP_DAYS says how long they are kept; those of a run that saw a deleted comment go at once",
        )
    for attempt in reversed(found.attempts):
        if attempt.step == step and attempt.prompt_blob is not None:
            return snapshots.get_blob(session, attempt.prompt_blob).decode(), attempt.manifest or {}
    steps = sorted({a.step for a in found.attempts if a.prompt_blob is not None})
    known = ", ".join(steps) or "none"
    raise UserError("no_prompt", f"the step {step} of {name} asked no model", f"steps with a prompt: {known}")
