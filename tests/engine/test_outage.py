"""An outage of what the engine stands on costs no step its tries; one that lasts ends the run, and is told."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

import pytest

from bot.engine.graph import Start, Walk, ready, used_up
from bot.model.outcome import Faulted
from bot.model.patience import PATIENCE
from bot.model.state import AttemptState, DispatchState, RunState
from bot.store import Store, runs
from bot.store.tables import Attempt
from tests.engine.scene import open_case
from tests.engine.test_graph import steps
from tests.rows import NOW

OUTAGE = Faulted("GET /issue: 502", outage=True)
BUSY = Faulted("the model is busy")
STEP = steps()[0]


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def attempt(number: int, seconds: float, *, outage: bool = True, asked: float | None = None) -> Attempt:
    """A transient attempt that ended so long after `NOW`."""
    error = {"code": "transient", **({"outage": "true"} if outage else {})}
    if asked is not None:
        error["retry_after"] = str(asked)
    return Attempt(
        run_id="r", frame_id="f", step="one", kind="run", number=number, state=AttemptState.TRANSIENT,
        started_at=at(seconds), ended_at=at(seconds), error=error,
    )  # fmt: skip


def running(number: int) -> Attempt:
    return Attempt(
        run_id="r", frame_id="f", step="one", kind="run", number=number, state=AttemptState.RUNNING, started_at=NOW
    )


def over(*attempts: Attempt, fault: Faulted = OUTAGE, seconds: float) -> bool:
    """Whether one more fault, at that time, is one too many."""
    walk = Walk.of([*attempts, running(len(attempts) + 1)])
    return used_up(STEP, walk, fault, at(seconds))


def test_it_is_waited_for_as_long_as_before_a_start() -> None:
    """However many tries that takes."""
    many = [attempt(number, 30 * number) for number in range(30)]
    assert not over(seconds=0)
    assert not over(*many, seconds=PATIENCE.total_seconds() - 1)
    assert over(*many, seconds=PATIENCE.total_seconds())


def test_it_takes_none_of_the_step_s_own_tries() -> None:
    """Nor does a fault of the step's own count as an outage; one begins anew after such a fault."""
    outages = [attempt(number, number) for number in range(10)]
    assert not over(*outages, fault=BUSY, seconds=20)
    own = [attempt(20 + number, 20, outage=False) for number in range(2)]
    assert over(*outages, *own, fault=BUSY, seconds=20)
    assert not over(*outages, *own, seconds=PATIENCE.total_seconds() * 2)


def test_a_time_that_was_named_is_no_silence() -> None:
    """A limit of forty minutes, and then an outage: the fifteen minutes are still to come."""
    limited = attempt(1, 0, asked=2_400)
    assert not over(limited, seconds=2_400)
    assert not over(limited, seconds=2_400 + PATIENCE.total_seconds() - 1)
    assert over(limited, seconds=2_400 + PATIENCE.total_seconds())


@pytest.mark.parametrize(
    ("tries", "asked", "pause"),
    [(1, None, 5), (2, None, 10), (4, None, 40), (5, None, 60), (20, None, 60), (1, 300, 300)],
)
def test_it_is_tried_ever_more_seldom(tries: int, asked: float | None, pause: float) -> None:
    """Every minute at last, or when whoever was asked says."""
    attempts = [attempt(number, 0, asked=asked) for number in range(1, tries + 1)]
    assert ready(steps(), attempts) == Start("one", tries + 1, at(pause), 0)


async def test_its_end_is_told(store: Store) -> None:
    """By a code of its own, after all the tries that there was time for."""
    case = await open_case(store)
    tries, now = 0, NOW
    while not (await case.run()).state.ended:
        if tries:
            now += timedelta(seconds=61)
            assert await store.write(partial(runs.claim, owner="me", now=now)) == case.run_id
        begun = await case.begin(now)
        assert await case.record(begun, OUTAGE, now) is None
        tries += 1
    assert tries == 16
    assert await case.states() == (RunState.FAILED, DispatchState.DONE)
    (attempts, (end,)) = (await case.rows()).attempts, case.ends
    assert attempts[-1].error["code"] == "github_unavailable"
    assert "github_unavailable" in end.reason
