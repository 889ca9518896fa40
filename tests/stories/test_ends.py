"""Threads in which nothing can be said: the run ends with the reason, and nobody is called again and again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlmodel import col, select

from bot.model.state import OutboxState, RunState
from bot.store import Session
from bot.store.tables import Attempt, Outbox, Run
from tests.stage import Stage, open_stage

TELL = """\
version: 1
workflows:
  tell:
    steps:
      - id: say
        notify: {comment: "Told about #${{ issue.number }}."}
"""


async def outcome(stage: Stage) -> tuple[list[RunState], list[str], set[str]]:
    """States of runs, what attempts failed with, and the reasons of what was dropped."""

    def read(session: Session) -> tuple[list[RunState], list[str], set[str]]:
        runs = session.exec(select(Run).order_by(col(Run.id))).all()
        attempts = session.exec(select(Attempt).order_by(col(Attempt.id))).all()
        rows = session.exec(select(Outbox)).all()
        return (
            [run.state for run in runs],
            [attempt.error.get("message", "") for attempt in attempts],
            {row.reason for row in rows if row.state is OutboxState.DROPPED},
        )

    return await stage.bot.store.read(read)


def posts(stage: Stage) -> int:
    """How often a comment was tried."""
    return sum(seen.method == "POST" and seen.path.endswith("/comments") for seen in stage.world.requests)


async def test_a_locked_issue(tmp_path: Path) -> None:
    """Nothing is started where nothing can be said; once it is unlocked, everything is as before."""
    async with open_stage(tmp_path, {".github/bot.yml": TELL}) as stage:
        stage.world.lock(stage.repo, 1, "ana")
        await stage.says("ana", "@bot tell")
        assert await outcome(stage) == ([], [], set())
        assert (stage.replies(), posts(stage)) == ([], 0)

        stage.world.unlock(stage.repo, 1, "ana")
        asked = await stage.says("ana", "@bot tell")
        assert stage.replies() == ["Told about #1."]
        assert stage.reactions(asked) == ["rocket"]


ASKS = """\
version: 1
workflows:
  ship:
    steps:
      - {id: look, agent: ask, prompt: Look., publish: false}
      - {id: approve, ask: Build this?, options: {approve: build, stop: end}}
      - {id: build, run: echo built}
"""


async def test_a_question_of_a_locked_conversation_is_asked_once_it_is_unlocked(tmp_path: Path) -> None:
    """It was locked while the agent worked: nobody waits for an answer to what nobody can see."""
    async with open_stage(tmp_path, {".github/bot.yml": ASKS}, sandbox="off") as stage:
        held = stage.world.faults.hold("GET", r"/repos/acme/widgets/issues/1")
        stage.world.comment(stage.repo, 1, "ana", "@bot ship")
        async with asyncio.timeout(20):
            await held.met.wait()
        stage.world.lock(stage.repo, 1, "ana")
        assert held.until is not None
        held.until.set()
        await stage.settle()
        assert (await outcome(stage))[0] == [RunState.WAITING]
        assert stage.replies() == []
        stage.world.unlock(stage.repo, 1, "ana")
        await stage.settle()
        (asked,) = stage.replies()
        assert asked.startswith("**Build this?** Asked by `r1.approve`")
        await stage.says("ana", "@bot approve")
        assert stage.replies()[-1].startswith("```text\nbuilt")
