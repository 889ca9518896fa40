"""What the engine itself takes for a step, beside its commits, against a graph in memory."""

from __future__ import annotations

from pathlib import Path

from tests.bench.child import child, python
from tests.bench.engine_process import STEPS
from tests.bench.figures import Goal, Pace, Row, counted, middle, shown


async def measure(pace: Pace, folder: Path) -> Row:
    """One worker, one run at a time; the time in commits is taken off."""
    rounds, count = pace.of(5, 1), pace.of(60, 15)
    whole, beside, memory = list[float](), list[float](), list[float]()
    async with child(*python("engine_process"), str(folder)) as engine:
        await engine.ask(runs=10, workers=1)
        for _ in range(rounds):
            answer = await engine.ask(runs=count, workers=1)
            steps = count * STEPS / 1e3
            whole.append(answer["seconds"] / steps)
            beside.append((answer["seconds"] - answer["committing"]) / steps)
            memory.append((await engine.ask(in_memory=count))["seconds"] / steps)
    overhead = middle(beside) - middle(memory)
    return Row(
        "overhead",
        "Engine overhead a step",
        "a graph of the same steps in memory, which forgets them when it ends",
        (Goal("engine overhead a step, beside its commits", overhead, "at most", 3, "ms"),),
        ("what", "ms a step"),
        (
            ("engine, all of it", shown(middle(whole))),
            ("engine, without the time in commits", shown(middle(beside))),
            ("graph in memory", shown(middle(memory))),
        ),
        (
            (
                f"{counted(rounds, 'round')} of {count} runs of {STEPS} no-op steps, one after the other; each has its"
                " share of the claim, start and end of the run."
            ),
        ),
        {"all (ms a step)": whole, "without commits (ms a step)": beside, "in memory (ms a step)": memory},
    )
