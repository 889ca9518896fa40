"""Acknowledged deliveries a second: the front door against Probot apps, over the same requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.demo.keys import new_key
from tests.bench.child import Child, child, python
from tests.bench.contestants import node
from tests.bench.figures import Goal, Pace, Row, counted, middle, percentile, shown
from tests.bench.github_process import GitHub
from tests.bench.load import MARK, SECRET
from tests.faults.process import free_port

NEEDS = (node,)
#: bytes of a payload: what GitHub sends for a comment in a repository of an organisation
PAYLOAD = 11_000
CONNECTIONS = (16, 64)
GENERATORS = 2

OURS, KEEPS, KEEPS_NOTHING, WHOLE = "front door", "Probot + SQLite", "Probot, keeps nothing", "whole bot"


async def measure(pace: Pace, folder: Path) -> Row:
    """Rounds in which each receiver, freshly started, takes the same number of requests, one after the other."""
    template = folder / "delivery.json"
    template.write_bytes(payload(folder / "world"))
    key = new_key()
    rounds, count = pace.of(3, 1), pace.of(8_000, 1_000)
    rates: dict[str, list[float]] = {}
    slowest: dict[str, list[float]] = {}
    busy: list[float] = []
    number = MARK // 9
    for turn in range(rounds):
        for connections in CONNECTIONS:
            order = [OURS, KEEPS, KEEPS_NOTHING, WHOLE]
            for name in order[turn % 4 :] + order[: turn % 4]:
                with TemporaryDirectory(dir=folder) as own:
                    async with _receiver(name, Path(own), key) as port, _generators(template) as generators:
                        await _fired(generators, port, connections, number, 400)
                        rate, taken, share = await _fired(generators, port, connections, number + 400, count)
                number += 400 + count
                rates.setdefault(f"{name}, {connections}", []).append(rate)
                slowest.setdefault(f"{name}, {connections}", []).append(percentile(taken, 0.99) * 1e3)
                busy.append(share)
    goals, figures = [], []
    for connections in CONNECTIONS:

        def rate_of(name: str, connections: int = connections) -> float:
            return middle(rates[f"{name}, {connections}"])

        def p99_of(name: str, connections: int = connections) -> float:
            return middle(slowest[f"{name}, {connections}"])

        at = f"with {connections} connections"
        goals += [
            Goal(f"deliveries a second {at}, against {KEEPS}", rate_of(OURS) / rate_of(KEEPS), "at least", 2, "×"),
            Goal(
                f"deliveries a second {at}, against a Probot that keeps nothing",
                rate_of(OURS) / rate_of(KEEPS_NOTHING), "at least", 0.5, "×",
            ),
            Goal(f"p99 {at}, against Probot + SQLite", p99_of(OURS) / p99_of(KEEPS), "at most", 1, "×"),
        ]  # fmt: skip
        figures += [
            (name, connections, shown(rate_of(name)), shown(p99_of(name)), shown(rate_of(name) / rate_of(OURS)))
            for name in (OURS, KEEPS, KEEPS_NOTHING, WHOLE)
        ]
    return Row(
        "receiver",
        "Acknowledged deliveries",
        "a Probot app that inserts into better-sqlite3 (WAL, `synchronous=FULL`) before it answers, and one that keeps"
        " nothing",
        tuple(goals),
        ("receiver", "connections", "deliveries a second", "p99 in ms", "of ours"),
        tuple(figures),
        (
            (
                f"Payloads of {PAYLOAD:,} bytes, each with its own GUID and signature; {counted(rounds, 'round')} of"
                f" {count:,} deliveries, every receiver started anew for each."
            ),
            f"The same {GENERATORS} generator processes for all; each was busy at most {max(busy):.0%} of the time.",
            (
                "The front door is a process that only takes deliveries; the whole bot looks at each of them meanwhile,"
                " and finds that nobody spoke to it. A Probot app does nothing with a delivery here but keep it."
            ),
        ),
        {f"{name} (a second)": values for name, values in rates.items()}
        | {f"{name} (p99, ms)": values for name, values in slowest.items()},
    )


def payload(folder: Path) -> bytes:
    """A delivery about a comment as the look-alike makes it, `PAYLOAD` bytes, `MARK` for the comment's number."""
    github = GitHub(folder)
    repository = github.repositories[0]
    github.world.comment(repository, 1, "ana", "@@")
    made = github.world.deliveries[-1]
    text = made.body.replace(str(made.payload()["comment"]["id"]).encode(), str(MARK).encode())
    text = text.replace(b"@@", b"x" * (PAYLOAD - len(text) + 2))
    assert len(text) == PAYLOAD
    assert json.loads(text)["comment"]["id"] == MARK
    return text


@asynccontextmanager
async def _receiver(name: str, folder: Path, key: str) -> AsyncIterator[int]:
    """One of the contestants on a port of its own."""
    async with AsyncExitStack() as stack:
        if name in {KEEPS, KEEPS_NOTHING}:
            port = free_port()
            env = {"PORT": str(port), "PRIVATE_KEY": key, "WEBHOOK_SECRET": SECRET, "NODE_ENV": "production"}
            if name == KEEPS:
                env["KEEP"] = str(folder / "deliveries.db")
            started = await stack.enter_async_context(child(*node.app("probot_app.mjs"), env=env, cwd=node.FOLDER))
        else:
            env = {
                "BOT_GITHUB_APP_ID": "1", "BOT_GITHUB_PRIVATE_KEY": key, "BOT_GITHUB_WEBHOOK_SECRET": SECRET,
                "BOT_ALLOWED_OWNERS": "*",
            }  # fmt: skip
            if name == WHOLE:
                github = await stack.enter_async_context(
                    child(*python("github_process"), str(folder / "github"), "0", "1")
                )
                env = (await github.hear())["facts"]
            started = await stack.enter_async_context(bot(env, folder / "data", "whole" if name == WHOLE else "door"))
        yield (await started.hear())["port"]


@asynccontextmanager
async def bot(env: Mapping[str, str], data: Path, part: str = "whole") -> AsyncIterator[Child]:
    """A bot's process on a free port, which it says first."""
    env = {"BOT_DATA_DIR": str(data), "BOT_PORT": "0", "BOT_LOG": "error", "BOT_SANDBOX": "off", **env}
    async with child(*python("bot_process"), part, env=env) as started:
        yield started


@asynccontextmanager
async def _generators(template: Path) -> AsyncIterator[list[Child]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(child(*python("load"), str(template))) for _ in range(GENERATORS)]


async def _fired(
    generators: list[Child], port: int, connections: int, first: int, count: int
) -> tuple[float, list[float], float]:
    """Deliveries a second, the seconds of each, and how busy a generator was."""

    each = count // len(generators)
    await asyncio.gather(*(one.ask(make=first + index * each, count=each) for index, one in enumerate(generators)))
    answers = await asyncio.gather(
        *(one.ask(port=port, connections=connections // len(generators)) for one in generators)
    )
    seconds = max(one["ended"] for one in answers) - min(one["begun"] for one in answers)
    taken = [value for one in answers for value in one["taken"]]
    return len(taken) / seconds, taken, max(one["busy"] for one in answers)
