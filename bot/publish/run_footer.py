"""The footer of what is said about a run as a whole: how long it took and what it spent, however it ended."""

from __future__ import annotations

from collections.abc import Iterable

from bot.model.outcome import Usage
from bot.publish.footer import Footer
from bot.store.tables import Attempt, Run


def run_footer(run: Run, attempts: Iterable[Attempt], again: int | None = None) -> Footer:
    """Without what a retry took over: that was paid by the run that it is taken from. `again` is that run's number."""
    took = run.worked(run.ended_at) if run.started_at and run.ended_at else None
    return Footer(run.number, name=run.workflow, seconds=took, usage=run_usage(attempts), again=again)


def run_usage(attempts: Iterable[Attempt]) -> Usage:
    """What the attempts of a run spent."""
    usage = Usage()
    for each in attempts:
        if each.taken_from is None:
            usage = usage + Usage(each.input_tokens, each.output_tokens, each.requests, each.cost)
    return usage
