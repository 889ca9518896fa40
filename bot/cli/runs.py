"""`threadsmith runs`: what was done lately."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from bot.cli.console import console
from bot.cli.database import look
from bot.store import Session
from bot.store import runs as queries
from bot.store.tables import Dispatch, Run, Thread

Row = tuple[Run, Dispatch, Thread]


def runs(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", help="Go on showing what changes, until Ctrl-C.")] = False,
) -> None:
    """List the newest runs."""
    seen: dict[str, str] = {}
    while True:
        rows = look(lambda session: _newest(session, limit))
        changed = [row for row in rows if seen.get(row[0].id) != row[0].state]
        if changed or not seen:
            console().print(_table(changed if seen else rows))
        seen = {row[0].id: str(row[0].state) for row in rows}
        if not follow:
            return
        time.sleep(1)


def _newest(session: Session, limit: int) -> list[Row]:
    return queries.recent(session, limit)


def _table(rows: list[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for head in ("run", "thread", "no.", "workflow", "asked by", "state", "took", "reason"):
        table.add_column(head, overflow="fold")
    for run, dispatch, thread in rows:
        table.add_row(
            run.id,
            f"{thread.owner}/{thread.name}#{thread.number}",
            f"r{run.number}",
            run.workflow,
            dispatch.actor,
            str(run.state),
            _took(run),
            run.reason,
        )
    return table


def _took(run: Run) -> str:
    if run.started_at is None:
        return "–"
    seconds = ((run.ended_at or datetime.now(UTC)) - run.started_at).total_seconds()
    return f"{seconds:.1f} s"
