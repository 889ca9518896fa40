"""`cancel` and `stop`: whose runs somebody may end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import select

from bot.model.state import RunState
from bot.store import Session, runs
from bot.store.tables import Attempt, Thread
from tests.dispatch.scene import MEG, SAM, Scene
from tests.rows import ANA, NOW

LOW = """\
version: 1
trigger_role: read
workflows:
  deploy: {trigger_role: maintain, steps: [{id: a, run: date}]}
  open: {steps: [{id: a, run: date}]}
"""
HIGH = LOW.replace("trigger_role: read", "trigger_role: write").replace("open: {", "open: {trigger_role: read, ")
LATER = NOW + timedelta(seconds=5)


async def states(scene: Scene) -> list[RunState]:
    return [run.state for run in await scene.runs()]


async def is_paused(scene: Scene) -> bool:
    def look(session: Session) -> bool:
        return any(row.paused for row in session.exec(select(Thread)))

    return await scene.store.read(look)


@pytest.mark.parametrize("words", ["cancel", "cancel r1", "stop"])
async def test_a_lower_role_ends_no_run_of_a_higher_one(scene: Scene, words: str) -> None:
    """It is told which go on, and the thread is not stopped."""
    scene.configure(LOW)
    await scene.says(MEG, "@bot deploy", comment_id=501)
    await scene.says(SAM, f"@bot {words}", comment_id=502, at=LATER)
    assert (await states(scene), await is_paused(scene)) == ([RunState.QUEUED], False)
    (told,) = await scene.said()
    assert "r1 goes on: that takes the role of its workflow, or having asked for it." in told
    assert ("not stopped" in told) is (words == "stop")
    assert await scene.said("reaction") == ["eyes", "confused"]


async def test_stop_ends_what_it_may_and_says_what_it_left(scene: Scene) -> None:
    """The thread goes on as long as one run does."""
    scene.configure(LOW)
    await scene.says(MEG, "@bot deploy", comment_id=501)
    await scene.says(ANA, "@bot open", comment_id=502)
    await scene.says(SAM, "@bot stop", comment_id=503, at=LATER)
    assert (await states(scene), await is_paused(scene)) == ([RunState.QUEUED, RunState.CANCELLED], False)
    told = (await scene.said())[-1]
    assert "r1 goes on" in told
    assert "this thread is not stopped" in told
    assert "r2 `open`, asked for by @ana, was cancelled" in told
    await scene.says(MEG, "@bot stop", comment_id=504, at=LATER)
    assert (await states(scene), await is_paused(scene)) == ([RunState.CANCELLED] * 2, True)


async def test_who_asked_may_always_cancel(scene: Scene) -> None:
    """Also with less than `trigger_role`, and with a role that was lowered since; others' runs stay."""
    scene.configure(HIGH)
    await scene.says(SAM, "@bot open", comment_id=501)
    await scene.says(MEG, "@bot open", comment_id=502)
    await scene.says(MEG, "@bot deploy", comment_id=503)
    await scene.says(SAM, "@bot cancel r2", comment_id=504, at=LATER)
    assert await scene.said() == []
    await scene.says(SAM, "@bot cancel", comment_id=505, at=LATER)
    assert await states(scene) == [RunState.CANCELLED, RunState.QUEUED, RunState.QUEUED]
    assert "r2 and r3 go on" in (await scene.said())[-1]
    scene.grant(MEG, "read")
    await scene.says(MEG, "@bot cancel r3", comment_id=506, at=LATER)
    assert (await states(scene))[-1] is RunState.CANCELLED


async def test_stop_names_what_was_spent(scene: Scene) -> None:
    """The tokens too: not every model has a known price."""
    scene.configure(LOW)
    await scene.says(ANA, "@bot open", comment_id=501)
    (run,) = await scene.runs()

    def spend(session: Session) -> None:
        root = runs.rows(session, run.id).root.id
        session.add(
            Attempt(run_id=run.id, frame_id=root, step="a", kind="agent", number=1, started_at=NOW, input_tokens=1_200)
        )

    await scene.store.write(spend)
    await scene.says(MEG, "@bot stop", comment_id=502, at=LATER)
    assert (await scene.said())[-1].endswith("- r1 `open`, asked for by @ana, was cancelled · 1,200 tokens")
