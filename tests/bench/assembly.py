"""How long it takes to put together what an agent sees, as the thread grows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import cast

import httpx

from bot.engine import Desk
from bot.engine.commit import Begun, Performed, Terms
from tests.bench.figures import Goal, Pace, Row, middle, shown
from tests.bench.long_thread import LENGTHS, LongThread, opened


class Replay(httpx.AsyncBaseTransport):
    """Answers what was asked before from memory, so that only our own work is measured."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self._known: dict[tuple[str, str], tuple[int, list[tuple[bytes, bytes]], bytes]] = {}
        self.on = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See httpx."""
        key = request.method, str(request.url)
        if not self.on or key not in self._known:
            answer = await self._inner.handle_async_request(request)
            self._known[key] = answer.status_code, answer.headers.raw, await answer.aread()
        status, headers, content = self._known[key]
        return httpx.Response(status, headers=headers, content=content, request=request)


class Watched:
    """The engine's desk, doing one attempt of an agent's step again and again."""

    def __init__(self, thread: LongThread, replay: Replay, times: int) -> None:
        # the desk is the workers' own; nothing but a measurement wants it
        self._desk = cast("Desk", thread.bot.workers._desk)
        self._perform, self._replay, self._times = self._desk.perform, replay, times
        self._desk.perform = self.perform  # type: ignore[method-assign]  # it stands between the worker and the desk
        self.taken: list[float] = []

    async def perform(self, begun: Begun, terms: Terms) -> Performed:
        """The attempt as it was; before that it is done for the watch."""
        await self._perform(begun, terms)
        self._replay.on = True
        for _ in range(self._times):
            begun.rows.run.thread_blob = None  # as if nothing had been read
            busy = time.process_time()
            performed = await self._perform(begun, terms)
            self.taken.append((time.process_time() - busy) * 1e3)
        self._replay.on = False
        return performed


async def measure(pace: Pace, folder: Path) -> Row:
    """One attempt in each thread, repeated; what GitHub answers comes from memory."""
    times = pace.of(40, 8)
    taken: dict[int, list[float]] = {}
    for length in LENGTHS:
        replays: list[Replay] = []

        def around(inner: httpx.AsyncBaseTransport, replays: list[Replay] = replays) -> httpx.AsyncBaseTransport:
            replays.append(Replay(inner))
            return replays[0]

        async with opened(folder / str(length), length, around) as thread:
            watched = Watched(thread, replays[0], times)
            await thread.ask()
            taken[length] = watched.taken
    medians = {length: middle(values) for length, values in taken.items()}
    longest, page, shortest = LENGTHS[-1], LENGTHS[1], LENGTHS[0]
    return Row(
        "assembly",
        "Context assembly",
        f"itself at {shortest} comments",
        (
            Goal(
                f"time at {longest:,} comments, against {shortest}",
                medians[longest] / medians[shortest],
                "at most",
                1.2,
                "×",
            ),
        ),
        ("comments", "ms", f"against {shortest}", f"against {page}"),
        tuple(
            (f"{length:,}", shown(value), shown(value / medians[shortest]), shown(value / medians[page]))
            for length, value in medians.items()
        ),
        (
            (
                f"Processor time of an attempt of an agent step with the demo model, median of {times}: the store"
                " is read, GitHub's answers (from memory) are parsed, thread and prompt are put together and kept."
            ),
            "The bot was told of every comment, so that its own database has all of the thread.",
        ),
        {f"{length:,} (ms)": values for length, values in taken.items()},
    )
