"""Dispatches a second with one worker process and with two, on PostgreSQL."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg

from tests.bench import postgres
from tests.bench.child import ROOT, child, python
from tests.bench.figures import Goal, Pace, Row, middle, shown
from tests.faults.process import free_port

WORKERS = 4


@dataclass(frozen=True)
class Load:
    """What people ask for, and the milliseconds that every request to GitHub takes longer than it would."""

    words: str
    latency: int
    told: str


#: the first is held against the goal: a step of a model takes longer still
LOADS = (
    Load("@bot take", 40, "a step of 2 s, requests of 40 ms"),
    Load("@bot look", 40, "a step of no time, requests of 40 ms"),
    Load("@bot look", 0, "a step and requests of no time"),
)


async def measure(pace: Pace, folder: Path) -> Row:
    """Rounds with one process and with two, each on a database of its own, under each load."""
    rounds, owners, times = pace.of(3, 1), pace.of(20, 8), pace.of(2, 1)
    rates: dict[tuple[Load, int], list[float]] = {}
    with postgres.served() as socket:
        for turn in range(rounds):
            # those that are told, and held against nothing: once is enough
            for place, load in enumerate(LOADS if turn == 0 else LOADS[:1]):
                for processes in (1, 2) if turn % 2 else (2, 1):
                    name = f"round{turn}_{place}_{processes}"
                    rate = await _rate(folder / name, socket, name, load, processes, owners, times)
                    rates.setdefault((load, processes), []).append(rate)
    medians = {key: middle(values) for key, values in rates.items()}
    ratios = {load: medians[load, 2] / medians[load, 1] for load in LOADS}
    goal = Goal("dispatches a second with two worker processes, against one", ratios[LOADS[0]], "at least", 1.6, "×")
    return Row(
        "cluster",
        "Workers on PostgreSQL",
        "one worker process",
        (goal,),
        ("what is asked for", "1 process", "2 processes", "against 1"),
        tuple((load.told, shown(medians[load, 1]), shown(medians[load, 2]), shown(ratios[load])) for load in LOADS),
        (
            (
                f"Dispatches a second. {owners} people ask {'once' if times == 1 else f'{times} times'} each, in"
                f" {owners} repositories; from the first delivery to the last posted answer. A receiver takes the"
                " deliveries; each worker process does"
                f" {WORKERS} runs at once (`BOT_WORKERS={WORKERS}`)."
            ),
            (
                "The goal is held against steps that take a while, as those of models do: a process is full when it"
                " does as many runs as it may. PostgreSQL, the look-alike, the receiver and all workers share the"
                " machine: where nothing waits, two processes have no more processor than one."
            ),
        ),
        {f"{load.told}, {processes} (a second)": values for (load, processes), values in rates.items()},
    )


async def _rate(folder: Path, socket: Path, name: str, load: Load, processes: int, owners: int, times: int) -> float:
    """Dispatches a second in a world and a database of their own."""
    folder.mkdir()
    with psycopg.connect(f"postgresql://postgres@/postgres?host={socket}", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    async with AsyncExitStack() as stack:
        argv = (*python("github_process"), str(folder / "github"), str(load.latency), str(owners))
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
        await github.ask(ask=load.words, times=1)  # everything is imported; tokens and configurations are known
        answer = await github.ask(ask=load.words, times=times)
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
