"""Runs on a real database, their terms from real YAML, and a clock that moves only where a test moves it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlmodel import col, select

from bot.engine import commit
from bot.engine.commit import Begun, Terms
from bot.engine.graph import End
from bot.model.outcome import Outcome
from bot.model.state import AttemptState, DispatchState, RunState
from bot.store import Session, Store, runs
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Run, Spend
from bot.workflows import Budget, Configuration, Step, builtin_files, load
from tests import rows
from tests.rows import NOW

LEASE = timedelta(seconds=30)


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
    ends: list[End] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    @property
    def terms(self) -> Terms:
        workflow = self.configuration.workflow_for(self.workflow)
        assert workflow is not None

        def say(session: Session, rows: RunRows, end: End) -> None:
            self.ends.append(end)

        def say_step(session: Session, rows: RunRows, step: Step, attempt: Attempt) -> None:
            self.outputs.append(f"{step.id}: {attempt.output}")

        return Terms(self.configuration, workflow, self.budget, self.usd_day, say, say_step)

    async def advance(self, now: datetime = NOW) -> Begun | None:
        """See `commit.advance`."""
        return await self.store.write(lambda s: commit.advance(s, self.run_id, self.terms, now))

    async def record(self, begun: Begun, outcome: Outcome, now: datetime = NOW) -> Begun | None:
        """See `commit.record`."""
        return await self.store.write(lambda s: commit.record(s, begun, outcome, self.terms, now))

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


async def open_case(store: Store, text: str = "", workflow: str = "main", guid: str = "g", **more: object) -> Case:
    """A run that was just claimed by `me`."""
    text = text or steps(2)
    files = {".github/bot.yml": text}

    def work(session: Session) -> str:
        run = rows.run(session, guid=guid, workflow=workflow, files=files, comment_id=501)
        assert runs.claim(session, "me", NOW, LEASE) == run.id
        return run.id

    run_id = await store.write(work)
    return Case(store, run_id, load(files, builtin_files()), workflow, **more)  # type: ignore[arg-type]  # as named


async def spends(store: Store) -> list[Spend]:
    """Every entry of the ledger of costs."""
    return await store.read(lambda s: list(s.exec(select(Spend).order_by(col(Spend.id)))))
