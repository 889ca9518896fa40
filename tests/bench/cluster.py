"""Dispatches a second with one worker process and with two, on PostgreSQL."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import psycopg

from tests.bench import postgres
from tests.bench.child import ROOT, child, python
from tests.bench.figures import Goal, Pace, Row, middle, shown
from tests.faults.process import free_port

#: seconds that GitHub takes for a read, about
LATENCY_MS = 40
WORKERS = 4


async def measure(pace: Pace, folder: Path) -> Row:
    """Rounds with one process and with two, each on a database of its own; with GitHub's latency and without."""
    rounds, owners, times = pace.of(3, 1), pace.of(30, 4), 2
    rates: dict[tuple[int, int], list[float]] = {}
    with postgres.served() as socket:
        for turn in range(rounds):
            # the one without latency is told, and held against nothing: once is enough
            for latency in (LATENCY_MS, 0) if turn == 0 else (LATENCY_MS,):
                for processes in (1, 2) if turn % 2 else (2, 1):
                    name = f"round{turn}_{latency}_{processes}"
                    rate = await _rate(folder / name, socket, name, latency, processes, owners, times)
                    rates.setdefault((latency, processes), []).append(rate)
    medians = {key: middle(values) for key, values in rates.items()}
    slow, fast = (medians[latency, 2] / medians[latency, 1] for latency in (LATENCY_MS, 0))
    return Row(
        "cluster",
        "Workers on PostgreSQL",
        "one worker process",
        (Goal("dispatches a second with two worker processes, against one", slow, "at least", 1.6, "×"),),
        ("requests to GitHub take", "1 process", "2 processes", "against 1"),
        (
            (f"{LATENCY_MS} ms", shown(medians[LATENCY_MS, 1]), shown(medians[LATENCY_MS, 2]), shown(slow)),
            ("nothing", shown(medians[0, 1]), shown(medians[0, 2]), shown(fast)),
        ),
        (
            (
                f"{owners} people ask {times} times each, in {owners} repositories, for a step that"
                " reads the thread; from the first delivery to the last posted answer. A receiver takes the deliveries;"
                f" each worker process does {WORKERS} runs at once (`BOT_WORKERS={WORKERS}`)."
            ),
            (
                "PostgreSQL, the look-alike, the receiver and all workers share the machine: without latency there is"
                " nothing left to wait for, and two processes have no more processor than one."
            ),
        ),
        {f"{latency} ms, {processes} (a second)": values for (latency, processes), values in rates.items()},
    )


async def _rate(folder: Path, socket: Path, name: str, latency: int, processes: int, owners: int, times: int) -> float:
    """Dispatches a second in a world and a database of their own."""
    folder.mkdir()
    with psycopg.connect(f"postgresql://postgres@/postgres?host={socket}", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    async with AsyncExitStack() as stack:
        argv = (*python("github_process"), str(folder / "github"), str(latency), str(owners))
        github = await stack.enter_async_context(child(*argv))
        port = free_port()
        env = {
            **(await github.hear())["facts"],
            "BOT_DATABASE_URL": f"postgresql://postgres@/{name}?host={socket}",
            "BOT_WORKERS": str(WORKERS),
            "BOT_LOG": "error",
            "BOT_SANDBOX": "off",
        }
        receiver = {**env, "BOT_PORT": str(port), "BOT_DATA_DIR": str(folder / "receiver")}
        await stack.enter_async_context(_command(receiver, "serve", "--no-worker"))
        await _answers(port)
        for number in range(processes):
            await stack.enter_async_context(_command({**env, "BOT_DATA_DIR": str(folder / f"w{number}")}, "worker"))
        await github.ask(deliver=[f"http://127.0.0.1:{port}/webhook"])
        await github.ask(threads=owners, first=0)
        await github.ask(ask="@bot look", times=1)  # everything is imported; tokens and configurations are known
        answer = await github.ask(ask="@bot look", times=times)
    return float(owners * times / answer["seconds"])


@asynccontextmanager
async def _command(env: Mapping[str, str], *argv: str) -> AsyncIterator[None]:
    """One of the product's own processes."""
    env = {"PATH": "/usr/bin:/bin", **env}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *argv, cwd=ROOT, env=env, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 15)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _answers(port: int) -> None:
    """Wait until the receiver takes deliveries."""
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(120):
        while True:
            try:
                if (await client.get(f"http://127.0.0.1:{port}/healthz")).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.02)
