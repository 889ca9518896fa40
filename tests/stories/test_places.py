"""Repositories and threads that are renamed, replaced, deleted, moved, locked, or no longer ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from sqlmodel import select

from bot.demo.faults import Fault
from bot.model.state import OutboxState, RunState
from bot.publish.marker import strip
from bot.store import Session
from bot.store.tables import Outbox, Run
from tests.stage import Stage, open_stage
from tests.stories.test_people import BOT_YML, release, states

#: without reactions, so that many posts fit into the burst that GitHub allows
QUIET_YML = f"{BOT_YML}publish: {{progress: none}}\n"


async def begin(stage: Stage, body: str = "@bot helper hello") -> Fault:
    """Ask, and return when the run is about to read the thread."""
    held = stage.world.faults.hold("GET", r"/repos/acme/widgets/issues/1")
    stage.world.comment(stage.repo, 1, "ana", body)
    async with asyncio.timeout(20):
        await held.met.wait()
    return held


def bodies(stage: Stage, repository: str, number: int = 1) -> list[str]:
    return [strip(c.body) for c in stage.world.comments(repository, number) if c.author is stage.app.bot]


async def test_a_renamed_repository_and_another_that_takes_its_name(tmp_path: Path) -> None:
    """The run goes on under the new name, and nothing of it reaches the repository that has the old one now."""
    async with open_stage(tmp_path, {".github/bot.yml": QUIET_YML}) as stage:
        await stage.says("ana", "@bot helper before")
        held = await begin(stage)
        stage.world.rename_repository(stage.repo, "gadgets")
        release(held)
        await stage.settle()
        assert len(bodies(stage, "acme/gadgets")) == 2
        await stage.says("ana", "@bot check")
        held = stage.world.faults.hold("GET", r"/repos/acme/gadgets/issues/1")
        stage.world.comment(stage.repo, 1, "ana", "@bot helper secret question")
        async with asyncio.timeout(20):
            await held.met.wait()
        stage.world.rename_repository(stage.repo, "things")
        taker = stage.world.add_repository("acme", "gadgets", {".github/bot.yml": QUIET_YML})
        stage.world.set_role(taker, "ana", "write")
        stage.world.open_issue(taker, "sam", "another", "another's body")
        release(held)
        await stage.settle()
        assert bodies(stage, "acme/gadgets") == []
        stage.world.comment(taker, 1, "ana", "@bot check")
        await stage.settle()
        (answer,) = bodies(stage, "acme/gadgets")
        assert "r1 · check" in answer
        await stage.says("ana", "@bot check")
        assert bodies(stage, "acme/things")[-1].split("<sub>")[1].startswith("r5 · check")


def delete(stage: Stage) -> None:
    stage.world.set_role(stage.repo, "meg", "admin")
    stage.world.delete_issue(stage.repo, 1, "meg")


def transfer(stage: Stage) -> None:
    there = f"{stage.world.api_url}/repositories/999/issues/7"
    for _ in range(3):
        stage.world.faults.add(
            Fault(
                "GET|POST",
                r"/repos/acme/widgets/issues/(1|comments)\b.*",
                50,
                status=301,
                message="Moved Permanently",
                headers={"Location": there},
            )
        )


def remove_the_app(stage: Stage) -> None:
    stage.world.uninstall(stage.installation)


def suspend_the_app(stage: Stage) -> None:
    stage.world.suspend(stage.installation)


def lock(stage: Stage) -> None:
    stage.world.lock(stage.repo, 1, "meg")


@pytest.mark.parametrize("change", [delete, transfer, remove_the_app, suspend_the_app, lock])
async def test_a_thread_that_is_lost_ends_the_run(tmp_path: Path, change: Callable[[Stage], None]) -> None:
    """In the middle of a run: run and outbox reach an end with a reason, and GitHub is not asked again and again."""
    async with open_stage(tmp_path, {".github/bot.yml": BOT_YML}) as stage:
        held = await begin(stage)
        before = len(stage.world.requests)
        change(stage)
        release(held)
        await stage.settle()
        # the delivery that tells of it and the call that meets it race; either ends the run
        ends = {RunState.SUCCEEDED} if change is lock else {RunState.FAILED, RunState.CANCELLED}
        (ended,) = await states(stage)
        assert ended in ends

        def said(session: Session) -> list[Outbox]:
            return [row for row in session.exec(select(Outbox)) if row.action == "comment"]

        (row,) = await stage.bot.store.read(said)
        assert row.state is OutboxState.DROPPED
        assert row.reason
        assert len(stage.world.requests) - before < 25
        if change is lock:
            stage.world.unlock(stage.repo, 1, "meg")
            await stage.says("ana", "@bot check")
            assert len(stage.replies()) == 1


async def test_a_flood_of_equal_deliveries_is_one_request(tmp_path: Path) -> None:
    """Fifty at once through the front door, and ten more of the same body under other GUIDs."""
    async with open_stage(tmp_path, {".github/bot.yml": BOT_YML}) as stage:
        made = stage.world.comment(stage.repo, 1, "ana", "@bot check")
        guid = stage.world.deliveries[-1].guid
        attempts = await asyncio.gather(
            *(stage.deliverer.redeliver(guid) for _ in range(50)), *(stage.deliverer.replay(guid) for _ in range(10))
        )
        assert {attempt.status_code for attempt in attempts} == {202}
        await stage.settle()
        every = [attempt.response for attempt in stage.world.attempts if '"accepted"' in attempt.response]
        assert len([text for text in every if guid in text]) <= 1
        assert len(stage.replies()) == 1
        assert stage.reactions(made) == ["rocket"]

        def count(session: Session) -> int:
            return len(session.exec(select(Run)).all())

        assert await stage.bot.store.read(count) == 1


async def test_whatever_breaks_while_posting_there_is_one_comment(tmp_path: Path) -> None:
    """An error before and after GitHub acted, a lost answer, a limit that names a time; other threads go on."""
    async with open_stage(tmp_path, {".github/bot.yml": QUIET_YML}) as stage:
        other = stage.world.open_issue(stage.repo, "sam", "another", "body")
        await stage.settle()
        post = r".*/issues/1/comments"
        faults = stage.world.faults
        breaks = (
            partial(faults.broken, 502, "POST", post),
            partial(faults.broken, 502, "POST", post, performed=True),
            partial(faults.lose_reply, "POST", post),
        )
        for count, broken in enumerate(breaks, 1):
            broken()
            await stage.says("ana", f"@bot check {count}")
            assert len(stage.replies()) == count, count
        faults.limited(1, "POST", post)
        stage.world.comment(stage.repo, 1, "ana", "@bot check limited")
        await stage.deliverer.settle()
        stage.world.comment(stage.repo, other.number, "ana", "@bot help")
        await stage.settle()
        assert len(stage.replies()) == 4
        assert len(stage.replies(other.number)) == 1
        numbers = [body.split("<sub>")[1].split(" ")[0] for body in stage.replies()]
        assert numbers == ["r1", "r2", "r3", "r4"]
