"""Issues, repositories and installations that go while something is under way in them."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

from sqlmodel import col, select

from bot.model.state import DispatchState, OutboxState, RunState
from bot.store import Session
from bot.store.tables import Dispatch, Outbox, Run
from tests.stage import Stage
from tests.stories.test_builtins import SLOW


def works(command: str) -> bool:
    """Whether a process of this machine runs the command, in whichever namespace."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if line.read_bytes().replace(b"\0", b" ").strip() == command.encode():
                return True
        except OSError:  # it ended meanwhile
            continue
    return False


async def slow(stage: Stage) -> None:
    """A run whose program works, so that it asks GitHub for nothing more, and one that waits behind it."""
    command = f"sleep 60.{secrets.randbelow(10**9):09}"
    await stage.configures(SLOW.replace("sleep 60", command))
    stage.world.comment(stage.repo, 1, "ana", "@bot slow")
    async with asyncio.timeout(20):
        while not works(command):
            await asyncio.sleep(0.01)
    stage.world.comment(stage.repo, 1, "ana", "@bot slow once more")
    async with asyncio.timeout(20):
        while len(await ends(stage)) < 2:
            await asyncio.sleep(0.01)


async def ends(stage: Stage) -> list[tuple[RunState, DispatchState]]:
    """How every run and its dispatch ended."""

    def look(session: Session) -> list[tuple[RunState, DispatchState]]:
        rows = session.exec(select(Run, Dispatch).where(Run.dispatch_id == Dispatch.id).order_by(col(Run.number)))
        return [(run.state, dispatch.state) for run, dispatch in rows]

    return await stage.bot.store.read(look)


async def left(stage: Stage) -> set[tuple[OutboxState, str]]:
    """What became of the ends that could not be said."""

    def look(session: Session) -> set[tuple[OutboxState, str]]:
        return {(row.state, row.reason) for row in session.exec(select(Outbox).where(Outbox.purpose == "cancelled"))}

    return await stage.bot.store.read(look)


CANCELLED = (RunState.CANCELLED, DispatchState.CANCELLED)


async def test_a_transferred_issue_ends_what_is_under_way_and_nothing_is_said_elsewhere(stage: Stage) -> None:
    """In its new place it is another thread; nobody asked anything there."""
    await slow(stage)
    other = stage.world.add_repository("acme", "gadgets", {"README.md": "# gadgets\n"})
    stage.world.set_role(other, "meg", "admin")
    stage.world.set_role(stage.repo, "meg", "admin")
    moved = stage.world.transfer_issue(stage.repo, 1, "meg", other)
    await stage.settle()
    assert await ends(stage) == [CANCELLED, CANCELLED]
    assert await left(stage) <= {(OutboxState.DROPPED, "transferred")}
    assert [c.body for c in stage.world.comments(other, moved.number) if c.author is stage.app.bot] == []


async def test_a_deleted_issue_ends_what_is_under_way(stage: Stage) -> None:
    """Nobody tries to say anything there."""
    await slow(stage)
    stage.world.set_role(stage.repo, "meg", "admin")
    before = len(stage.world.requests)
    stage.world.delete_issue(stage.repo, 1, "meg")
    await stage.settle()
    assert await ends(stage) == [CANCELLED, CANCELLED]
    said = [seen for seen in stage.world.requests[before:] if seen.method == "POST" and seen.path.endswith("/comments")]
    assert said == []


async def test_a_renamed_repository_goes_on_by_its_new_name(stage: Stage) -> None:
    """The run that was under way ends where it stands now."""
    await slow(stage)
    stage.world.set_role(stage.repo, "meg", "admin")
    stage.world.rename_repository(stage.repo, "sprockets", "meg")
    await stage.deliverer.settle()
    await stage.says("meg", "@bot cancel")
    assert await ends(stage) == [CANCELLED, CANCELLED]
    assert [body.split(" was")[0] for body in sorted(stage.replies())] == ["r1 `slow`", "r2 `slow`"]


async def test_a_repository_that_is_renamed_before_its_clone_is_cloned_by_its_new_name(stage: Stage) -> None:
    """Its address was read before, and git follows no redirect."""
    stage.world.set_role(stage.repo, "meg", "admin")
    held = stage.world.faults.hold(path=r"/acme/widgets\.git/info/refs")
    assert held.until is not None
    stage.world.comment(stage.repo, 1, "ana", "@bot check")
    async with asyncio.timeout(20):
        await held.met.wait()
    stage.world.rename_repository(stage.repo, "sprockets", "meg")
    held.until.set()
    await stage.settle()
    assert await ends(stage) == [(RunState.SUCCEEDED, DispatchState.DONE)]
    asked = [(seen.path.split("/")[2], seen.status) for seen in stage.world.requests if seen.kind == "git"]
    assert asked[0] == ("widgets.git", 404)
    assert set(asked[1:]) == {("sprockets.git", 200)}


async def test_a_removed_app_ends_what_is_under_way_without_a_storm(stage: Stage) -> None:
    """The reason stands with the run; GitHub is not asked again and again."""
    await slow(stage)
    before = len(stage.world.requests)
    stage.world.uninstall(stage.installation)
    await stage.settle()
    assert await ends(stage) == [CANCELLED, CANCELLED]
    assert await left(stage) <= {(OutboxState.DROPPED, "app_removed")}
    assert len(stage.world.requests) - before <= 4
