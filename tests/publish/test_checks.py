"""A check is made once and changed afterwards, whatever breaks on the way; GitHub adds every annotation it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.demo.records import Check
from bot.model.slot import Slot
from bot.model.state import OutboxState

from .lookalike import Stage, stage


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path) as one:
        yield one


def payload(*lines: int, title: str = "wrong") -> dict[str, Any]:
    """A check with a note about each of these lines."""
    notes = [{"path": "a.py", "start_line": n, "end_line": n, "level": "failure", "message": f"{n}"} for n in lines]
    return {"name": "bot", "status": "completed", "conclusion": "failure", "title": title, "summary": "S",
            "annotations": notes}  # fmt: skip


async def told(made: Stage, wanted: dict[str, Any], *times: float) -> Check:
    """The only check there is, with what it was to say sent."""
    row_id = await made.want("check", wanted, thread=made.pull.number)
    await made.later(made.sender(), *times)
    assert (await made.row(row_id)).state is OutboxState.POSTED
    (check,) = made.made.repo.checks
    return check


def noted(check: Check) -> list[int]:
    return [one.start_line for one in check.annotations]


async def test_what_is_said_already_is_not_said_again(made: Stage) -> None:
    """A change adds the notes that are new."""
    check = await told(made, payload(1, 2))
    assert (check.external_id, check.head_sha) == (str(Slot("run/1", "check")), made.pull.head_sha)
    assert noted(check) == [1, 2]
    await told(made, payload(1, 3, title="another"))
    assert (check.title, noted(check)) == ("another", [1, 2, 3])
    await told(made, payload(1, 2, 3, title="the same"))
    assert (check.title, noted(check)) == ("the same", [1, 2, 3])


async def test_a_lost_answer(made: Stage) -> None:
    """It is found by its slot, and its notes are not doubled."""
    made.world.faults.lose_reply("POST", ".*/check-runs")
    assert noted(await told(made, payload(1, 2), 5, 5)) == [1, 2]


async def test_a_limit_in_the_middle(made: Stage) -> None:
    """More notes than one request takes: what is missing is added to the check that stands there."""
    made.world.faults.limited(20, "PATCH", ".*/check-runs/.*")
    assert noted(await told(made, payload(*range(1, 61)), 5, 30)) == list(range(1, 61))
