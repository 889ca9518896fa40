"""Runs of five no-op steps a second, and what they commit: the engine against DBOS and a script."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from pathlib import Path

from tests.bench.child import Child, child, python
from tests.bench.contestants import environment as dbos
from tests.bench.engine_process import STEPS
from tests.bench.figures import Goal, Pace, Row, counted, middle, shown

NEEDS = (dbos,)
WORKERS = 8
OURS, DBOS, SCRIPT = "engine", "DBOS", "script"


async def measure(pace: Pace, folder: Path) -> Row:
    """Rounds in which each does the same number of runs, in turn."""
    rounds, count = pace.of(5, 1), pace.of(200, 40)
    rates: dict[str, list[float]] = {OURS: [], DBOS: [], SCRIPT: []}
    commits: list[float] = []
    async with AsyncExitStack() as stack:

        async def started(name: str, *argv: str) -> Child:
            (folder / name).mkdir()
            return await stack.enter_async_context(child(*argv, str(folder / name)))

        engine = await started(OURS, *python("engine_process"))
        others = {
            DBOS: await started(DBOS, *dbos.app(folder / DBOS)[:2]),
            SCRIPT: await started(SCRIPT, sys.executable, str(Path(dbos.__file__).with_name("script.py"))),
        }
        # what a start of the workers commits is no run's
        few, many = [(await engine.ask(runs=number, workers=1))["commits"] for number in (5, 25)]
        alone = (many - few) / 20
        each = round(alone)
        for other in others.values():
            await other.ask(runs=WORKERS, workers=WORKERS, commits=each)
        for _ in range(rounds):
            answer = await engine.ask(runs=count, workers=WORKERS)
            rates[OURS].append(count / answer["seconds"])
            commits.append(answer["commits"] / count)
            for name, other in others.items():
                answer = await other.ask(runs=count, workers=WORKERS, commits=each)
                rates[name].append(count / answer["seconds"])
    ours = middle(rates[OURS])
    return Row(
        "runs",
        f"Runs of {STEPS} no-op steps",
        "DBOS on SQLite, and a straight script that makes the same commits by hand",
        (
            Goal("runs a second, against DBOS", ours / middle(rates[DBOS]), "at least", 5, "×"),
            Goal("runs a second, against the script", ours / middle(rates[SCRIPT]), "at least", 0.5, "×"),
            Goal("commits a run", alone, "at most", 7),
        ),
        ("what", "runs a second", "commits a run"),
        (
            (OURS, shown(ours), shown(middle(commits))),
            (DBOS, shown(middle(rates[DBOS])), "—"),
            (SCRIPT, shown(middle(rates[SCRIPT])), each),
        ),
        (
            (
                f"{WORKERS} workers, {counted(rounds, 'round')} of {count} runs, each on a thread of its own;"
                f" DBOS {dbos.VERSION}."
            ),
            (
                f"The table's commits are those of {WORKERS} runs side by side, which share them; the goal counts those"
                " of one run alone. The script shares none."
            ),
        ),
        rates,
    )
