"""`GET /metrics`: what is in rows is told by every process, what this one did beside it."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from bot import __version__
from bot.errors import Transient
from bot.model.slot import Slot
from bot.model.state import AttemptState, RunState
from bot.store import Session, Store, outbox, processes, runs
from bot.store.tables import Allowance, Attempt, Duty, Process, Spend
from bot.web import metrics
from bot.web.access import Access
from bot.web.metric_table import METRICS
from bot.web.metrics import Metrics, Own
from tests import rows
from tests.github.fake import FakeClock
from tests.rows import NOW
from tests.sending import claim_next

Samples = dict[tuple[str, tuple[str, ...]], float]


def make(store: Store, clock: FakeClock | None = None) -> Metrics:
    """The figures of one process that began at `NOW`."""
    requests = Counter({("issue", "200"): 3, ("token", "ConnectError"): 1})
    return Metrics(store, clock or FakeClock(NOW), lambda: Own("me", requests, True, 4, 2), NOW)


async def of(made: Metrics) -> Samples:
    """Every sample by name and the values of its labels, sorted by their names, as Prometheus' own parser reads it."""
    body, _ = await made.text("")
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def happen(session: Session) -> None:
    """A run with a failed and a good attempt, its result posted and paid for; what else there is to tell."""
    run = rows.run(session, guid="a")
    frame = runs.rows(session, run.id).root.id
    common: dict[str, Any] = {"run_id": run.id, "frame_id": frame, "step": "s", "kind": "run", "started_at": NOW}
    ended = NOW + timedelta(seconds=2)
    session.add(Attempt(**common, number=1, state=AttemptState.FAIL, ended_at=ended, error={"code": "exit"}))
    session.add(Attempt(**common, number=2, state=AttemptState.SUCCESS, ended_at=ended))
    said = outbox.ensure(
        session, Slot("x", "result"), thread_id=run.thread_id, run_id=run.id, action="comment", purpose="result",
        body="x", now=NOW,
    )  # fmt: skip
    assert claim_next(session, "me", NOW) is not None
    outbox.posted(session, said.id, 1, "", ended, said.digest)
    lost = outbox.ensure(
        session, Slot("x", "z"), thread_id=run.thread_id, action="label", purpose="action", body="z", now=NOW
    )
    outbox.drop(session, lost.id, "permission_missing: issues: write")
    run.state, run.ended_at = RunState.SUCCEEDED, ended
    where: dict[str, Any] = {
        "installation_id": 1,
        "repository_id": 1,
        "thread_id": "t",
        "actor_id": 1,
        "run_id": run.id,
    }
    session.add(run)
    session.add(Spend(**where, model="m-1", input_tokens=3, output_tokens=4, cost=0.5, at=NOW))
    session.add(
        Allowance(
            installation_id=5, resource="core", ceiling=5000, remaining=12, seen_at=NOW,
            reset_at=NOW + timedelta(hours=1), blocked_until=NOW + timedelta(seconds=30),
        )
    )  # fmt: skip


async def test_the_figures(store: Store) -> None:
    """Of rows and of this process."""
    await store.write(happen)

    def duties(session: Session) -> None:
        at = processes.now(session)
        session.add(Process(id="p", host="h", kind="serve", started_at=at, beat_at=at))
        # alone on its database, and so without a beat
        session.add(Process(id="me", host="h", kind="worker", started_at=NOW, beat_at=NOW))
        session.add_all([Duty(name="intake", owner="p"), Duty(name="outbox", owner="dead")])

    await store.write(duties)
    found = await of(make(store))
    wanted = {
        ("threadsmith_deliveries", ("webhook", "new")): 1,
        ("threadsmith_dispatches", ("queued",)): 1,
        ("threadsmith_runs", ("succeeded",)): 1,
        ("threadsmith_posts_dropped", ("permission_missing",)): 1,
        ("threadsmith_queue_oldest_seconds", ("run",)): 0,
        ("threadsmith_stuck", ("delivery",)): 0,
        ("threadsmith_github_limit", ("5", "core")): 5000,
        ("threadsmith_github_remaining", ("5", "core")): 12,
        ("threadsmith_github_blocked_seconds", ("5", "core")): 30,
        ("threadsmith_processes", ("serve",)): 1,
        ("threadsmith_processes", ("worker",)): 1,
        ("threadsmith_duty_held", ("intake",)): 1,
        ("threadsmith_duty_held", ("outbox",)): 0,
        ("threadsmith_runs_ended_total", ("succeeded",)): 1,
        ("threadsmith_attempts_ended_total", ("run", "fail")): 1,
        ("threadsmith_attempts_ended_total", ("run", "success")): 1,
        ("threadsmith_step_failures_total", ("exit", "run")): 1,
        ("threadsmith_posted_total", ("comment",)): 1,
        ("threadsmith_model_tokens_total", ("input", "m-1")): 3,
        ("threadsmith_model_tokens_total", ("output", "m-1")): 4,
        ("threadsmith_model_cost_dollars_total", ("m-1",)): 0.5,
        ("threadsmith_run_seconds_bucket", ("1.0",)): 0,
        ("threadsmith_run_seconds_bucket", ("2.5",)): 1,
        ("threadsmith_run_seconds_sum", ()): 2,
        ("threadsmith_result_seconds_count", ()): 1,
        ("threadsmith_step_seconds_count", ("run",)): 2,
        ("threadsmith_github_requests_total", ("issue", "200")): 3,
        ("threadsmith_github_requests_total", ("token", "ConnectError")): 1,
        ("threadsmith_github_away", ()): 1,
        ("threadsmith_workers", ()): 4,
        ("threadsmith_workers_busy", ()): 2,
    }
    assert {key: found.get(key) for key in wanted} == wanted
    assert found["threadsmith_store_commits_total", ()] <= found["threadsmith_store_works_total", ()]
    assert ("process_resident_memory_bytes", ()) in found


async def test_looked_at_again_nothing_is_counted_twice(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is asked for within some seconds is read once."""
    made = make(store)
    await store.write(happen)
    reads = []
    read = store.read

    async def counted(work: object) -> object:
        reads.append(work)
        return await read(work)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(store, "read", counted)
    first, second = await of(made), await of(made)
    assert {key: second[key] for key in first if key[0].startswith("threadsmith")} == {
        key: value for key, value in first.items() if key[0].startswith("threadsmith")
    }
    assert len(reads) == 1
    made._read_again = 0.0
    found = await of(made)
    assert len(reads) == 2
    assert found["threadsmith_runs_ended_total", ("succeeded",)] == 1
    assert found["threadsmith_model_tokens_total", ("input", "m-1")] == 3


async def test_what_is_known_by_name_begins_at_0(store: Store) -> None:
    """With nothing in the database; and what this process runs is told."""
    found = await of(make(store))
    for name, labels in (
        ("threadsmith_runs", ("waiting",)),
        ("threadsmith_dispatches", ("set_aside",)),
        ("threadsmith_posts_open", ("unsure",)),
        ("threadsmith_posts_dropped", ("permission_missing",)),
        ("threadsmith_posts_dropped", ("other",)),
        ("threadsmith_runs_ended_total", ("failed",)),
        ("threadsmith_attempts_ended_total", ("agent", "fail")),
        ("threadsmith_step_failures_total", ("other", "run")),
        ("threadsmith_step_seconds_count", ("code",)),
        ("threadsmith_run_seconds_count", ()),
        ("threadsmith_result_seconds_count", ()),
    ):
        assert found[name, labels] == 0
    assert ("threadsmith_runs_ended_total", ("running",)) not in found
    assert ("threadsmith_posts_open", ("posted",)) not in found
    assert found["threadsmith_build_info", (__version__,)] == 1


async def test_an_allowance_is_whole_once_its_reset_has_passed(store: Store) -> None:
    """Nobody has to ask for it to be so."""
    await store.write(happen)
    clock = FakeClock(NOW + timedelta(hours=2))
    found = await of(make(store, clock))
    assert found["threadsmith_github_remaining", ("5", "core")] == 5000
    assert found["threadsmith_github_blocked_seconds", ("5", "core")] == 0


def test_names_follow_the_conventions() -> None:
    """One prefix, base units, no suffix that the format adds itself; a help that is a text; none twice."""
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert re.fullmatch(r"threadsmith_[a-z]+(_[a-z]+)*", metric.name)
        assert not metric.name.endswith(("_total", "_count", "_sum", "_bucket", "_info"))
        assert metric.help
        assert not metric.help.endswith(".")
        assert not {"repository", "user", "login", "thread", "owner"} & set(metric.labels)


async def test_nothing_is_left_in_the_library_s_own_registry(store: Store) -> None:
    """Two bots in one process do not meet there."""
    before = set(REGISTRY._names_to_collectors)
    await of(make(store))
    await of(make(store))
    assert set(REGISTRY._names_to_collectors) == before


def application(store: Store, password: str = "") -> httpx.AsyncClient:
    app = FastAPI()
    app.add_middleware(Access, password=password)
    app.include_router(metrics.router(make(store)))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


async def test_over_http(store: Store) -> None:
    """In either of the two formats; with a password only for who has it."""
    async with application(store) as client:
        plain = await client.get("/metrics")
        newer = await client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert plain.headers["content-type"].startswith("text/plain; version=")
    assert newer.headers["content-type"].startswith("application/openmetrics-text")
    assert newer.text.endswith("# EOF\n")
    async with application(store, "open sesame") as client:
        assert (await client.get("/metrics")).status_code == 401
        known = await client.get("/metrics", headers={"authorization": "Bearer open sesame"})
    assert known.status_code == 200
    assert "# HELP threadsmith_runs Runs" in known.text


async def test_without_a_database(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 with the reason, and no stale figures."""

    async def refuses(work: object) -> object:
        raise Transient("the database refuses: disk I/O error")

    monkeypatch.setattr(store, "read", refuses)
    async with application(store) as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 503
    assert answer.text.startswith("# the database refuses")
