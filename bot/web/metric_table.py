"""Every figure of `GET /metrics`: the one table that the collector and the documentation are made from.

`rows`: read from the database, so that every process tells the same, and whoever adds processes up takes the greatest.
`ends`: the same of what came to an end since this process began: a counter, whose rate is that of all processes.
`process`: what this process did itself; those of several are added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Source = Literal["rows", "ends", "process"]
Kind = Literal["gauge", "counter", "histogram", "info"]

#: upper bounds in seconds: a no-op takes milliseconds, a step with an agent minutes
SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


_ENDINGS: Mapping[Kind, str] = {"counter": "_total", "info": "_info"}


@dataclass(frozen=True, slots=True)
class Metric:
    """One family. The name is without the suffix that Prometheus' text adds (`_total`, `_bucket`, …)."""

    name: str
    kind: Kind
    source: Source
    help: str
    labels: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """Its name as a query has it."""
        return f"{self.name}{_ENDINGS.get(self.kind, '')}"


METRICS: tuple[Metric, ...] = (
    Metric(
        "threadsmith_queue_oldest_seconds",
        "gauge",
        "rows",
        "How long the oldest waits that could go on now: a delivery, a run whose turn it is, a post",
        ("queue",),
    ),
    Metric("threadsmith_deliveries", "gauge", "rows", "Deliveries that are kept", ("state", "origin")),
    Metric("threadsmith_dispatches", "gauge", "rows", "Dispatches", ("state",)),
    Metric("threadsmith_runs", "gauge", "rows", "Runs", ("state",)),
    Metric("threadsmith_posts_open", "gauge", "rows", "What is to be said or done on GitHub", ("state",)),
    Metric("threadsmith_posts_dropped", "gauge", "rows", "What could never be said or done", ("reason",)),
    Metric("threadsmith_stuck", "gauge", "rows", "What should have moved and has not", ("kind",)),
    Metric(
        "threadsmith_github_limit",
        "gauge",
        "rows",
        "Requests an hour that GitHub allows; installation 0 is the App",
        ("installation", "resource"),
    ),
    Metric(
        "threadsmith_github_remaining",
        "gauge",
        "rows",
        "What was left of them, to about a tenth; all of them once the reset has passed",
        ("installation", "resource"),
    ),
    Metric(
        "threadsmith_github_blocked_seconds",
        "gauge",
        "rows",
        "For how long nothing is asked because of a limit; the resource `secondary` holds for all",
        ("installation", "resource"),
    ),
    Metric("threadsmith_processes", "gauge", "rows", "Processes that live on this database", ("kind",)),
    Metric("threadsmith_duty_held", "gauge", "rows", "1 where a living process has the duty, else 0", ("duty",)),
    Metric("threadsmith_runs_ended", "counter", "ends", "Runs that ended", ("result",)),
    Metric("threadsmith_attempts_ended", "counter", "ends", "Attempts of steps that ended", ("kind", "result")),
    Metric("threadsmith_step_failures", "counter", "ends", "Failures and faults of steps", ("kind", "code")),
    Metric("threadsmith_posted", "counter", "ends", "What was said or done on GitHub, edits included", ("action",)),
    Metric("threadsmith_model_tokens", "counter", "ends", "Tokens of model calls", ("model", "direction")),
    Metric("threadsmith_model_cost_dollars", "counter", "ends", "US dollars of model calls with a price", ("model",)),
    Metric("threadsmith_run_seconds", "histogram", "ends", "From a dispatch's acceptance to its run's end"),
    Metric("threadsmith_result_seconds", "histogram", "ends", "From a dispatch's acceptance to its posted result"),
    Metric(
        "threadsmith_step_seconds", "histogram", "ends", "How long attempts of steps took, waits included", ("kind",)
    ),
    Metric(
        "threadsmith_github_requests",
        "counter",
        "process",
        "Requests to GitHub, repeats included; the status, or what was met instead of an answer",
        ("kind", "status"),
    ),
    Metric("threadsmith_github_away", "gauge", "process", "1 while GitHub does not answer this process, else 0"),
    Metric("threadsmith_store_commits", "counter", "process", "Commits to the database"),
    Metric(
        "threadsmith_store_works", "counter", "process", "Works in those commits: their ratio is the group commit's"
    ),
    Metric("threadsmith_build", "info", "process", "1, with what this process runs", ("version",)),
    Metric("threadsmith_workers", "gauge", "process", "Runs that this process can work on at once"),
    Metric("threadsmith_workers_busy", "gauge", "process", "Runs that it works on now"),
)
BY_NAME = {metric.name: metric for metric in METRICS}
