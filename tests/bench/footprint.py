"""How long a start takes, and what the process holds of memory: idle, and after ten thousand dispatches."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx

from tests.bench.child import ROOT, child, python
from tests.bench.figures import Goal, Pace, Row, counted, middle, shown
from tests.bench.memory import resident_mb
from tests.faults.process import free_port


async def measure(pace: Pace, folder: Path) -> Row:
    """Starts of the real command, one after the other; the last one then works."""
    starts, dispatches, owners = pace.of(7, 2), pace.of(10_000, 200), pace.of(200, 10)
    ready, idle = list[float](), list[float]()
    async with child(*python("github_process"), str(folder / "github"), "0", str(owners)) as github:
        facts = (await github.hear())["facts"]
        for number in range(starts):
            port = free_port()
            async with _served(facts, folder / f"data-{number}", port) as (pid, seconds):
                ready.append(seconds)
                await asyncio.sleep(2)  # who we are is asked from GitHub after the start
                idle.append(resident_mb(pid))
                if number < starts - 1:
                    continue
                await github.ask(deliver=[f"http://127.0.0.1:{port}/webhook"])
                # a tenth of them brings in what is imported and cached at first
                warm, more = dispatches // 10, dispatches - dispatches // 10
                await github.ask(open=warm // owners)
                await _at_rest(folder / f"data-{number}" / "bot.db", warm)
                before, begun = resident_mb(pid), time.monotonic()
                await github.ask(open=more // owners)
                await _at_rest(folder / f"data-{number}" / "bot.db", dispatches)
                rate, after = more / (time.monotonic() - begun), resident_mb(pid)
    growth = (after / before - 1) * 100
    return Row(
        "footprint",
        "Start and memory",
        "nothing",
        (
            Goal("start to ready", middle(ready), "at most", 1.5, "s"),
            Goal("resident memory, idle", middle(idle), "at most", 150, "MB"),
            Goal(f"growth from {warm:,} dispatches to {dispatches:,}", growth, "at most", 5, "%"),
        ),
        ("what", "measured"),
        (
            ("start to ready (s)", shown(middle(ready))),
            ("resident, idle (MB)", shown(middle(idle))),
            (f"resident after {warm:,} dispatches (MB)", shown(before)),
            (f"resident after {dispatches:,} dispatches (MB)", shown(after)),
            ("dispatches a second meanwhile", shown(rate)),
        ),
        (
            (
                "`threadsmith serve` on an empty folder, from its start to the first 200 of `/readyz`;"
                f" {counted(starts, 'start')}."
            ),
            (
                f"Each dispatch is an issue that is opened and answered with a comment, over {owners} installations:"
                " an installation may write only so fast."
            ),
            "The growth is counted from the first tenth on, by which everything is imported and the caches are filled.",
        ),
        {"start (s)": ready, "idle (MB)": idle},
    )


@asynccontextmanager
async def _served(facts: Mapping[str, str], data: Path, port: int) -> AsyncIterator[tuple[int, float]]:
    """The real command; its process, and the seconds until it was ready."""
    env = {**facts, "BOT_DATA_DIR": str(data), "BOT_PORT": str(port), "BOT_LOG": "error", "BOT_SANDBOX": "off"}
    begun = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "serve", cwd=ROOT, env={"PATH": "/usr/bin:/bin", **env}
    )
    try:
        async with httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{port}") as client:
            while True:
                try:
                    if (await client.get("/readyz")).status_code == 200:
                        break
                except httpx.TransportError:
                    assert process.returncode is None, "the bot did not start"
                await asyncio.sleep(0.01)
        yield process.pid, time.monotonic() - begun
    finally:
        process.terminate()
        await process.wait()


async def _at_rest(database: Path, wanted: int) -> None:
    """Wait until so many runs have ended."""
    query = "SELECT count(*) FROM run WHERE state = 'succeeded'"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as connection:
        while connection.execute(query).fetchone()[0] < wanted:
            await asyncio.sleep(0.2)
