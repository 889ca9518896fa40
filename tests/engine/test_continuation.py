"""Whatever of a run's rows a death leaves, going on comes to the same; and every walk ends.

Each commit is a prefix of the run's rows: a process that dies after it leaves exactly that. So a walk that dies after
some of its commits is held against one that does not.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.store import Store, open_store
from tests.databases import DATABASES
from tests.engine.walks import Sketch, sketches, walk

CHOICES = st.lists(st.integers(0, 11), min_size=1, max_size=8)


async def opened(directory: Path) -> Store:
    return open_store(DATABASES.of_folder(directory))


def test_going_on_after_deaths(tmp_path: Path) -> None:
    """The same end, what every step came to, and run context; whatever ends first and whenever people answer.

    Two deaths at most: the third of one step puts a run aside.
    """
    with asyncio.Runner() as runner:
        store = runner.run(opened(tmp_path))

        @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(sketches(), CHOICES, st.lists(st.integers(0, 10_000), min_size=1, max_size=2))
        def holds(sketch: Sketch, choices: list[int], moments: list[int]) -> None:
            whole = runner.run(walk(store, sketch, [0]))
            deaths = {moment % whole.commits + 1 for moment in moments}
            again = runner.run(walk(store, sketch, choices, deaths))
            assert again.end == whole.end
            assert again.attempts == whole.attempts
            assert again.context == whole.context

        try:
            holds()
        finally:
            runner.run(store.close())


SHAPES = Sketch(
    """
- {id: s0, agent: writer, prompt: p}
- id: s1
  parallel:
    branches:
      a: [{id: s2, ask: Fine?}, {id: s3, run: x}]
      b: [{id: s4, run: x}, {id: s5, each: {over: [x, y]}, steps: [{id: s6, run: x}, {id: s7, wait: {for: 1h}}]}]
- {id: s8, loop: {max: 2, until: "outcome == 'fail'", on_exhaust: last}, steps: [{id: s9, run: x}]}
""",
    frozenset(),
    {"s2": "approve"},
)


def test_a_death_after_every_commit(tmp_path: Path) -> None:
    """One walk a commit, through branches, elements, repetitions, a gate and a wait."""

    async def each() -> None:
        store = await opened(tmp_path)
        try:
            whole = await walk(store, SHAPES)
            assert whole.end == "succeeded"
            for moment in range(1, whole.commits):
                again = await walk(store, SHAPES, [moment], {moment})
                assert (again.end, again.attempts, again.context) == (whole.end, whole.attempts, whole.context), moment
        finally:
            await store.close()

    asyncio.run(each())
