"""What of a run may start now, from its rows alone."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.engine.graph import Busy, End, Start, backoff, ready
from bot.model.state import AttemptState, RunState
from bot.store.tables import Attempt
from bot.workflows import Retry, Step, load
from tests.rows import NOW

WORKFLOW = """
version: 1
workflows:
  two:
    steps:
      - {id: one, run: "true"}
      - {id: two, run: "true", retry: {max: 1, base: 10s}}
"""


@cache
def steps() -> tuple[Step, ...]:
    workflow = load({".github/bot.yml": WORKFLOW}).workflow_for("two")
    assert workflow is not None
    return workflow.steps


def attempt(step: str, number: int, state: AttemptState, **error: Any) -> Attempt:
    return Attempt(
        run_id="r",
        frame_id="f",
        step=step,
        kind="run",
        number=number,
        state=state,
        started_at=NOW,
        ended_at=NOW,
        error=error,
    )


S, F, T, X, R = (
    AttemptState.SUCCESS,
    AttemptState.FAIL,
    AttemptState.TRANSIENT,
    AttemptState.INTERRUPTED,
    AttemptState.RUNNING,
)


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([], Start("one", 1)),
        ([("one", S)], Start("two", 1)),
        ([("one", S), ("two", S)], End(RunState.SUCCEEDED)),
        ([("one", AttemptState.SKIPPED)], Start("two", 1)),
        ([("one", R)], Busy()),
        ([("one", X)], Start("one", 2)),
        ([("one", X), ("one", S)], Start("two", 1)),
        (
            [("one", X), ("one", X), ("one", X)],
            End(RunState.SET_ASIDE, "one", "one was interrupted 3 times without progress"),
        ),
        ([("one", AttemptState.CANCELLED)], End(RunState.CANCELLED, "one")),
    ],
)
def test_straight_order(attempts: list[tuple[str, AttemptState]], expected: object) -> None:
    """Steps in file order; an interruption runs the step again, three put the run aside."""
    rows = [
        attempt(step, number + 1, state, code="interrupted" if state is X else "")
        for number, (step, state) in enumerate(attempts)
    ]
    got = ready(steps(), rows)
    if isinstance(got, Start):
        got = Start(got.step, len([a for a in attempts if a[0] == got.step]) + 1)
    assert got == expected


def test_a_failure_ends_the_run_and_names_the_step() -> None:
    """Nothing after it starts."""
    assert ready(steps(), [attempt("one", 1, F, code="command_failed")]) == End(
        RunState.FAILED, "one", "one failed: command_failed"
    )
    over = ready(steps(), [attempt("one", 1, F, code="run_timed_out", message="its 60 minutes are over")])
    assert over == End(RunState.TIMED_OUT, "one", "its 60 minutes are over")


def test_a_graceful_stop_is_not_counted() -> None:
    """Deployments never put a run aside."""
    stopped = [attempt("one", n, X, code="stopped") for n in range(1, 9)]
    assert ready(steps(), stopped) == Start("one", 9)


def test_a_death_that_interrupted_others_too_is_not_counted() -> None:
    """Nobody knows which of them it was."""
    together = [attempt("one", n, X, code="interrupted_with_others") for n in range(1, 9)]
    assert ready(steps(), together) == Start("one", 9)
    alone = [attempt("one", n, X, code="interrupted") for n in range(9, 12)]
    assert isinstance(ready(steps(), [*together, *alone]), End)


def test_a_transient_fault_waits_and_then_gives_up() -> None:
    """The other side's `retry_after` is obeyed; after `max` retries the run fails."""
    rows = [attempt("one", 1, S), attempt("two", 1, T, code="transient", retry_after="120")]
    assert ready(steps(), rows) == Start("two", 2, NOW + timedelta(seconds=120))
    rows.append(attempt("two", 2, T, code="transient"))
    assert ready(steps(), rows) == End(RunState.FAILED, "two", "two failed: transient")


@given(st.integers(1, 40), st.text(max_size=30))
def test_backoff_grows_within_its_cap(faults: int, seed: str) -> None:
    """Exponential from `base` to `cap`, at most a quarter off, and the same whenever it is asked."""
    retry = Retry.model_validate({"base": "2s", "cap": "60s"})
    wait = backoff(retry, faults, seed)
    plain = min(60.0, 2.0 * 2 ** (faults - 1))
    assert plain * 0.75 <= wait <= plain * 1.25
    assert wait == backoff(retry, faults, seed)


@given(st.text(max_size=30))
def test_no_pause_is_longer_than_a_day(seed: str) -> None:
    """Nor is it with its jitter, whatever the workflow says."""
    assert backoff(Retry.model_validate({"base": "30d", "cap": "30d"}), 9, seed) == 86_400


@given(st.lists(st.sampled_from([S, X, T]), max_size=12))
def test_any_walk_ends(states: list[AttemptState]) -> None:
    """Whatever each attempt leads to, the walk reaches an end within the bounds of its retries."""
    rows: list[Attempt] = []
    for n in range(40):
        following = ready(steps(), rows)
        if isinstance(following, End):
            return
        assert isinstance(following, Start)
        state = states[n] if n < len(states) else S
        rows.append(attempt(following.step, following.number, state, code="transient" if state is T else "interrupted"))
    pytest.fail("no end after 40 attempts")
