"""`GET /metrics`: the figures of the rows and of this process, in Prometheus' text format.

Nothing is counted where it happens: what is in rows is read from them, by one read for all who ask within some seconds.
Source: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bot import __version__
from bot.errors import Transient
from bot.model.clock import Clock
from bot.model.state import DispatchState, RunState
from bot.publish.ends import REASONS
from bot.store import Session, Store, figures, processes, stuck
from bot.store.figures import Figures
from bot.store.posts import OPEN
from bot.web.metric_table import BY_NAME
from bot.web.tally import OTHER, Tally, counted

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

#: seconds for which what was read is told again, at least
BELIEVED = 5.0
#: seconds that whoever asks waits at most
LIMIT = 10.0
#: values of the metric's labels → its value
Values = Mapping[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Own:
    """What this process did itself."""

    #: the id under which it lives
    process: str
    #: requests to GitHub by kind and status
    requests: Counter[tuple[str, str]]
    away: bool
    workers: int
    busy: int


class Metrics:
    """Reads and renders. `own` is asked each time; `start` is when the process began."""

    def __init__(self, store: Store, clock: Clock, own: Callable[[], Own], start: datetime) -> None:
        self._store, self._clock, self._own = store, clock, own
        self._tally = Tally(start)
        self._turn = asyncio.Lock()
        #: when the rows are read again, by the event loop's clock
        self._read_again = float("-inf")
        self._figures: Figures | None = None
        self._stuck: Mapping[str, stuck.Stuck] = {}
        self._registry: CollectorRegistry | None = None

    async def text(self, accept: str) -> tuple[bytes, str]:
        """What is told now, and its media type. Raises `Transient` where the database refuses."""
        from prometheus_client.exposition import choose_encoder

        if self._registry is None:
            self._registry = self._collectors()
        async with self._turn:
            now = asyncio.get_running_loop().time()
            if now >= self._read_again:
                await self._store.read(self._look)
                after = asyncio.get_running_loop().time()
                # a database that takes long to count is asked seldomer: for a hundredth of the time
                self._read_again = after + max(BELIEVED, 100 * (after - now))
            encode, media = choose_encoder(accept)
            return encode(self._registry), media

    def _collectors(self) -> CollectorRegistry:
        """A registry of our own, made at the first request: the library has one for the whole process."""
        from prometheus_client import GC_COLLECTOR, CollectorRegistry, PlatformCollector, ProcessCollector

        made = CollectorRegistry(auto_describe=False)
        made.register(self)
        ProcessCollector(registry=made)
        PlatformCollector(registry=made)
        made.register(GC_COLLECTOR)
        return made

    def _look(self, session: Session) -> None:
        now = self._clock.now()
        self._figures = figures.figures(session, now, processes.now(session), self._own().process)
        self._stuck = stuck.stuck(session, now)
        self._tally.look(session)

    def collect(self) -> Iterator[Any]:
        """Every family of the table, as the library wants them."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
            InfoMetricFamily,
        )

        gauges, counters = self._gauges(), self._counters()
        for name, metric in BY_NAME.items():
            if metric.kind == "histogram":
                family: Any = HistogramMetricFamily(name, metric.help, labels=metric.labels)
                histograms = dict(self._tally.histograms[name])
                for labels, one in histograms.items():
                    family.add_metric(labels, one.buckets, one.sum)
            elif metric.kind == "info":
                family = InfoMetricFamily(name, metric.help, value={"version": __version__})
            elif metric.kind == "counter":
                family = CounterMetricFamily(name, metric.help, labels=metric.labels)
                for labels, value in counters.get(name, {}).items():
                    family.add_metric(labels, value)
            else:
                family = GaugeMetricFamily(name, metric.help, labels=metric.labels)
                for labels, value in gauges.get(name, {}).items():
                    family.add_metric(labels, value)
            yield family

    def _counters(self) -> Mapping[str, Values]:
        return {
            **{name: dict(values) for name, values in self._tally.counters.items()},
            "threadsmith_model_cost_dollars": {(model,): cost for model, cost in self._tally.dollars.items()},
            "threadsmith_github_requests": _pairs(self._own().requests),
            "threadsmith_store_commits": {(): self._store.commits},
            "threadsmith_store_works": {(): self._store.works},
        }

    def _gauges(self) -> Mapping[str, Values]:
        own, read = self._own(), self._figures
        told: dict[str, Values] = {
            "threadsmith_github_away": {(): own.away},
            "threadsmith_workers": {(): own.workers},
            "threadsmith_workers_busy": {(): own.busy},
        }
        if read is None:
            return told
        rows: dict[str, Values] = {
            "threadsmith_queue_oldest_seconds": {(queue,): age for queue, age in read.ages.items()},
            "threadsmith_deliveries": _pairs(read.deliveries),
            "threadsmith_dispatches": _single(_all(DispatchState, read.dispatches)),
            "threadsmith_runs": _single(_all(RunState, read.runs)),
            "threadsmith_posts_open": _single(_all(OPEN, read.posts)),
            "threadsmith_posts_dropped": _single(_all((*REASONS, OTHER), counted(read.dropped.items()))),
            "threadsmith_stuck": {
                (kind,): self._stuck[kind].count if kind in self._stuck else 0 for kind in stuck.WORDS
            },
            "threadsmith_processes": _single(read.processes),
            "threadsmith_duty_held": _single(read.duties),
        }
        return {**told, **rows, **_allowances(read)}


def _all(names: Iterable[str], values: Mapping[str, int]) -> Mapping[str, int]:
    """Of every name, also where there is none: a series that begins with its first event has grown by nothing."""
    return {**dict.fromkeys(map(str, names), 0), **values}


def _single(values: Mapping[str, int]) -> Values:
    return {(name,): value for name, value in values.items()}


def _pairs(values: Mapping[tuple[str, str], int]) -> Values:
    return {(one, two): value for (one, two), value in values.items()}


def _allowances(read: Figures) -> Mapping[str, Values]:
    limit: dict[tuple[str, ...], float] = {}
    remaining: dict[tuple[str, ...], float] = {}
    blocked: dict[tuple[str, ...], float] = {}
    for row in read.allowances:
        key = (str(row.installation_id), row.resource)
        if row.ceiling:
            limit[key] = float(row.ceiling)
            over = row.reset_at is not None and row.reset_at <= read.at
            remaining[key] = float(row.ceiling if over else row.remaining)
        left = (row.blocked_until - read.at).total_seconds() if row.blocked_until is not None else 0.0
        blocked[key] = max(0.0, left)
    return {
        "threadsmith_github_limit": limit,
        "threadsmith_github_remaining": remaining,
        "threadsmith_github_blocked_seconds": blocked,
    }


def router(metrics: Metrics) -> APIRouter:
    """The route; who may ask is `bot.web.access`'s to say."""
    routes = APIRouter(tags=["health"])

    @routes.get("/metrics", response_class=Response, responses={503: {"description": "the database does not answer"}})
    async def told(request: Request) -> Response:
        """Figures for Prometheus."""
        try:
            async with asyncio.timeout(LIMIT):
                text, media = await metrics.text(request.headers.get("accept", ""))
        except (Transient, TimeoutError) as error:
            reason = str(error) or f"the database did not answer within {LIMIT:g} s"
            return Response(f"# {reason}\n", status_code=503, media_type="text/plain; charset=utf-8")
        return Response(text, headers={"content-type": media})

    return routes
