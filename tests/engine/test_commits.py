"""What a run commits: each step one transaction, with the start of the next in it."""

from __future__ import annotations

from bot.store import Store
from tests.bench.engine_process import STEPS, Engine

#: the design's bound for five steps
MOST = 7


async def test_a_run_of_five_steps_commits_seven_times(store: Store) -> None:
    """Claim, begin, and one for each step; what a start of the workers commits is no run's."""
    engine = Engine(store)
    few, many = [(await engine.run(count, workers=1))["commits"] for count in (1, 4)]
    assert STEPS == 5
    assert (many - few) / 3 <= MOST
