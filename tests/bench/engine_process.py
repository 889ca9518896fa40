"""The engine with steps that do nothing, on a database of its own: workers, queue, rows, and nothing around them."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from bot.engine.commit import Begun, Performed, Terms
from bot.engine.graph import End
from bot.engine.worker import Workers
from bot.model.clock import SystemClock
from bot.model.outcome import Done
from bot.queue import RunQueue
from bot.store import Session, Store, open_store
from bot.store.runs import RunRows
from bot.workflows import Budget, builtin_files, load
from tests import rows
from tests.bench import child

STEPS = 5


class EmptyDesk:
    """A desk where every step is over at once. `ended` is set when `expected` runs have ended."""

    def __init__(self) -> None:
        steps = "".join(f"      - {{id: s{number}, run: 'true'}}\n" for number in range(STEPS))
        files = {".github/bot.yml": f"version: 1\nworkflows:\n  main:\n    steps:\n{steps}"}
        configuration = load(files, builtin_files())
        workflow = configuration.workflow_for("main")
        assert workflow is not None
        self._terms = Terms(configuration, workflow, Budget(), 50.0, self.say, lambda *_: None)
        self.expected = 0
        self.ended = asyncio.Event()

    async def terms(self, rows: RunRows) -> Terms:
        return self._terms

    async def admit(self, rows: RunRows) -> End | None:
        return None

    async def give(self, rows: RunRows, terms: Terms) -> End | None:
        return None

    async def perform(self, begun: Begun, terms: Terms) -> Performed:
        return Performed(Done("ok"))

    async def noted(self, run_id: str, terms: Terms) -> None:
        return None

    async def clear(self, run_id: str) -> None:
        self.expected -= 1
        if not self.expected:
            self.ended.set()

    async def sweep(self) -> None:
        return None

    def say(self, session: Session, rows: RunRows, end: End) -> None:
        return None

    say_plainly = say


class Engine:
    """Runs so many runs at a time and tells how long they took."""

    def __init__(self, store: Store) -> None:
        self.store, self._clock, self._made = store, SystemClock(), 0

    async def run(self, count: int, workers: int) -> dict[str, Any]:
        """`count` runs on as many threads: seconds in all and in commits, processor time, commits."""
        await self.store.write(lambda session: self._queue(session, count))
        desk = EmptyDesk()
        desk.expected = count
        commits, synced = self.store.commits, _Stopwatch()
        self.store.failpoint = synced
        busy, begun = time.process_time(), time.perf_counter()
        working = asyncio.create_task(
            Workers(self.store, RunQueue(self.store, self._clock), desk, self._clock, workers).run()
        )
        await desk.ended.wait()
        seconds = time.perf_counter() - begun
        answer = {
            "seconds": seconds,
            "busy": time.process_time() - busy,
            "commits": self.store.commits - commits,
            "committing": synced.seconds,
        }
        self.store.failpoint = None
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        return answer

    def _queue(self, session: Session, count: int) -> None:
        for _ in range(count):
            self._made += 1
            rows.run(session, self._made, guid=f"g{self._made}", workflow="main", now=self._clock.now())


class _Stopwatch:
    """A failpoint that ends nothing: it adds up how long the commits take."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since: float | None = None

    def __call__(self, when: str, _name: str) -> None:
        if when == "before":
            self._since = self._since or time.perf_counter()
        elif self._since is not None:
            self.seconds += time.perf_counter() - self._since
            self._since = None


async def in_memory(count: int) -> float:
    """Seconds that as many runs of the same steps take as a graph in memory: a dict of steps, and who comes next."""
    steps = {number: number + 1 for number in range(STEPS)}

    async def perform(_step: int) -> str:
        return "ok"

    begun = time.perf_counter()
    for _ in range(count):
        step, context = 0, dict[int, str]()
        while step in steps:
            context[step] = await asyncio.create_task(perform(step))
            step = steps[step]
    return time.perf_counter() - begun


async def _main() -> None:
    store = open_store(f"sqlite:///{Path(sys.argv[1]) / 'bot.db'}")
    engine = Engine(store)

    async def answer(asked: dict[str, Any]) -> dict[str, Any]:
        if "in_memory" in asked:
            return {"seconds": await in_memory(asked["in_memory"])}
        return await engine.run(asked["runs"], asked["workers"])

    await child.serve(answer)
    await store.close()


if __name__ == "__main__":
    asyncio.run(_main())
