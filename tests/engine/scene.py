"""Runs on a real database, their terms from real YAML, and a clock that moves only where a test moves it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlmodel import col, select

from bot.engine import Desk, Tools, commit
from bot.engine.commit import Advance, Begun, Performed, Terms
from bot.engine.frames import Level
from bot.engine.graph import End
from bot.model.outcome import Outcome
from bot.model.state import AttemptState, DispatchState, RunState
from bot.publish import Marker, Redactor, Speaker
from bot.runners import Providers, Runners
from bot.store import Session, Store, runs
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Run, Spend
from bot.workflows import Budget, Configuration, Memo, Step, builtin_files, load
from bot.workspace import Git, Reach, Secrets, Workspaces
from bot.workspace.supervised import Supervised
from tests import rows
from tests.github.fake import FakeClock, FakeGitHub, make_github
from tests.rows import NOW


class StillClock:
    """Time stands still; who sleeps is woken when it is moved far enough. `slept` lists every sleep asked for."""

    def __init__(self, now: datetime = NOW) -> None:
        self._now = now
        self._waiting: set[asyncio.Future[None]] = set()
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        until = self._now + timedelta(seconds=seconds)
        while self._now < until:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.add(waiter)
            try:
                await waiter
            finally:
                self._waiting.discard(waiter)

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)


@dataclass
class Case:
    """A claimed run with its terms; `ends` and `outputs` are what was to be said."""

    store: Store
    run_id: str
    configuration: Configuration
    workflow: str
    budget: Budget = field(default_factory=Budget)
    usd_day: float = 50.0
    result_bytes: int = 262_144
    ends: list[End] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    @property
    def terms(self) -> Terms:
        workflow = self.configuration.workflow_for(self.workflow)
        assert workflow is not None

        def say(session: Session, rows: RunRows, end: End) -> None:
            self.ends.append(end)

        def say_step(session: Session, rows: RunRows, level: Level, step: Step, attempt: Attempt) -> None:
            self.outputs.append(f"{step.id}: {attempt.output}")

        return Terms(
            self.configuration, workflow, self.budget, self.usd_day, say, say_step, result_bytes=self.result_bytes
        )

    async def advance(self, now: datetime = NOW) -> Begun | None:
        """See `commit.advance`; the first that begins."""
        advance = await self.store.write(lambda s: commit.advance(s, self.run_id, self.terms, now))
        return next(iter(advance.begun), None)

    async def record(self, begun: Begun, outcome: Outcome, now: datetime = NOW) -> Begun | None:
        """See `commit.record`; the first that begins."""
        return next(iter((await self.recorded(begun, outcome, now)).begun), None)

    async def recorded(self, begun: Begun, outcome: Outcome, now: datetime = NOW) -> Advance:
        """The same with everything that it led to."""
        performed = Performed(outcome)
        return await self.store.write(lambda s: commit.record(s, begun, performed, self.terms, now))

    async def begin(self, now: datetime = NOW) -> Begun:
        """The attempt that starts now."""
        begun = await self.advance(now)
        assert begun is not None
        return begun

    async def rows(self) -> RunRows:
        """The run as it stands."""
        return await self.store.read(lambda s: runs.rows(s, self.run_id))

    async def run(self) -> Run:
        """Its run row."""
        return (await self.rows()).run

    async def attempts(self) -> list[tuple[str, int, AttemptState]]:
        """Its ledger."""
        return [(a.step, a.number, a.state) for a in (await self.rows()).attempts]

    async def states(self) -> tuple[RunState, DispatchState]:
        """Run and dispatch."""
        found = await self.rows()
        return found.run.state, found.dispatch.state

    async def change(self, **values: object) -> None:
        """Set columns of the run."""

        def work(session: Session) -> None:
            run = session.get_one(Run, self.run_id)
            for name, value in values.items():
                setattr(run, name, value)
            session.add(run)

        await self.store.write(work)


def steps(count: int, extra: str = "") -> str:
    """A file with one workflow, `main`, of so many no-op steps."""
    lines = [f'      - {{id: s{n}, run: "true", workspace: none{extra}}}' for n in range(1, count + 1)]
    return "\n".join(["version: 1", "workflows:", "  main:", "    steps:", *lines, ""])


async def open_case(
    store: Store,
    text: str = "",
    workflow: str = "main",
    guid: str = "g",
    beside: Mapping[str, str] = MappingProxyType({}),
    **more: object,
) -> Case:
    """A run that was just claimed by `me`; `beside` are further files of the configuration."""
    text = text or steps(2)
    files = {".github/bot.yml": text, **beside}

    def work(session: Session) -> str:
        run = rows.run(session, guid=guid, workflow=workflow, files=files, comment_id=501)
        assert runs.claim(session, "me", NOW) == run.id
        return run.id

    run_id = await store.write(work)
    return Case(store, run_id, load(files, builtin_files()), workflow, **more)  # type: ignore[arg-type]  # as named


async def spends(store: Store) -> list[Spend]:
    """Every entry of the ledger of costs."""
    return await store.read(lambda s: list(s.exec(select(Spend).order_by(col(Spend.id)))))


# -- the desk with everything real but GitHub


@asynccontextmanager
async def open_tools(store: Store, server: FakeGitHub, directory: Path, **more: Any) -> AsyncIterator[Tools]:
    """The engine's tools on a scripted GitHub: real commands without isolation, the demo model."""
    github, sandbox = make_github(server), Supervised()
    async with Runners(Providers(), sandbox) as runners:
        values: dict[str, Any] = {
            "store": store,
            "github": github,
            "sandbox": sandbox,
            "workspaces": Workspaces(directory / "work", Git(), allowed_host="https://api.github.test"),
            "runners": runners,
            "memo": Memo(builtin_files()),
            "speaker": Speaker(Redactor([]), server.clock),
            "marker": Marker([b"a key of the tests"]),
            "clock": server.clock,
            "nonce_key": b"nonce",
            "redact": Redactor(["s3cret-value"]),
            "secrets": Secrets(None, lambda _: None),
            "reach": Reach.of(["127.0.0.1"]),
            "handle": lambda: "@bot",
            "mine": lambda comment: comment.app_id == 42,
            "command_only": lambda text, handles: text == "@bot help",
            "max_usd_day": 50.0,
            "max_run_usd": 10.0,
            "result_max_bytes": 262_144,
            "export_env": ("OPEN",),
            "environ": {"OPEN": "opened", "CLOSED": "closed"},
        }
        yield Tools(**values | more)
    await github.aclose()


@dataclass
class Room:
    """A desk and the run that it works on."""

    desk: Desk
    tools: Tools
    server: FakeGitHub
    case: Case

    async def terms(self) -> Terms:
        return await self.desk.terms(await self.case.rows())

    async def perform(self, **budget: Any) -> Outcome:
        """Begin the next attempt and perform it."""
        terms = await self.terms()
        if budget:
            terms = replace(terms, budget=Budget(**budget))
        begun = await self.case.begin()
        return (await self.desk.perform(begun, terms)).outcome


@asynccontextmanager
async def open_room(
    store: Store, directory: Path, text: str, workflow: str = "main", guid: str = "g", **more: Any
) -> AsyncIterator[Room]:
    """A desk, and one claimed run of `text`; `more` replaces tools."""
    server = FakeGitHub(FakeClock(NOW))
    async with open_tools(store, server, directory, **more) as tools:
        case = await open_case(store, text, workflow, guid)
        await case.change(started_at=NOW)

        def move(session: Session) -> None:
            thread = runs.rows(session, case.run_id).thread
            thread.installation_id = 5
            session.add(thread)

        await store.write(move)
        yield Room(Desk(tools), tools, server, case)
