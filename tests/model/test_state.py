"""Transition tables: complete, kept apart by kind, and binding."""

from __future__ import annotations

from enum import StrEnum

import pytest

from bot.errors import IllegalTransition
from bot.model.state import (
    TRANSITIONS,
    AttemptState,
    DispatchState,
    OutboxState,
    RunState,
    follow,
)


@pytest.mark.parametrize("kind", list(TRANSITIONS))
def test_every_state_is_reachable_and_stays_in_its_kind(kind: type[StrEnum]) -> None:
    """Every state but the first follows some other, and only states of the same kind follow."""
    reached = {new for following in TRANSITIONS[kind].values() for new in following}
    assert all(type(new) is kind for new in reached)
    assert reached | {next(iter(kind))} == set(kind)


def test_states_of_equal_text_are_not_mixed_up() -> None:
    """`queued` of a dispatch may start, `queued` of a run may run, and not the other way round."""
    assert follow(RunState.QUEUED, RunState.RUNNING) is RunState.RUNNING
    assert follow(RunState.RUNNING, RunState.QUEUED) is RunState.QUEUED
    assert follow(DispatchState.QUEUED, DispatchState.STARTED) is DispatchState.STARTED


@pytest.mark.parametrize("ended", [s for s in RunState if s.ended])
def test_an_ended_run_stays_ended(ended: RunState) -> None:
    """No state follows an end."""
    for new in RunState:
        with pytest.raises(IllegalTransition):
            follow(ended, new)


def test_an_attempt_ends_once_and_a_posted_slot_is_never_created_again() -> None:
    """Success is final; a posted slot can only be edited, so it never becomes unsure of its existence."""
    with pytest.raises(IllegalTransition, match="success cannot become fail"):
        follow(AttemptState.SUCCESS, AttemptState.FAIL)
    with pytest.raises(IllegalTransition):
        follow(OutboxState.POSTED, OutboxState.UNSURE)
