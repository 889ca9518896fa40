"""Bots that are killed hundreds of times: nothing accepted is lost, nothing is said twice, and all comes to rest.

`make faults` does the same at any length (see `tests.faults.run`), and tells the seed that repeats the choices.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.workflows import Memo, builtin_files
from tests.faults.boundaries import boundaries, edges
from tests.faults.place import BOT_YML
from tests.faults.run import storm

#: kills: those that CI demands, and on a developer's machine enough to see that it works
KILLS = 300 if os.environ.get("CI") else 40
#: of the edges of commits, the share that so many kills meet at least; `make faults` tells those that none has met
SHARE = 0.5


async def test_kills(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """At every commit boundary, before and after; at every edge of a write to GitHub; at random."""
    seed = random.SystemRandom().randrange(10**6)
    figures = await storm(KILLS, seed, tmp_path)
    record_property("figures", f"faults: {figures.line}")
    assert not figures.faulty, figures.told()
    killed = set(figures.coverage.killed)
    assert {name for _, name in figures.coverage.met} <= set(boundaries()), "the source has boundaries not found"
    if KILLS >= 300:
        assert len(edges() & killed) >= SHARE * len(edges()), figures.told()


def test_the_configuration_is_used() -> None:
    """A mistake in it would have every request refused, which is an end too."""
    checked = Memo(builtin_files()).check(1, "a" * 40, {".github/bot.yml": BOT_YML})
    assert checked.configuration is not None, checked.findings


@pytest.mark.parametrize("name", ["StoreInbox._keep", "Workers._record", "Records.posted"])
def test_what_matters_most_is_among_the_boundaries(name: str) -> None:
    """A scan that finds nothing would excuse everything."""
    assert ("before", name) in edges()
    assert ("after", name) in edges()
