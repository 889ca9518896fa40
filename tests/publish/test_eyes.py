"""👀 is taken away when everything that a text asked for has ended, and its ends are seen there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from sqlmodel import select

from bot.model.slot import Slot
from bot.model.state import OutboxState, RunState
from bot.publish.eyes import put_away, taken
from bot.store import Session, dispatches, open_store, outbox
from bot.store.tables import Dispatch, Outbox, Run
from tests import rows
from tests.databases import DATABASES
from tests.github.fake import answer
from tests.publish.test_comments import review_comment
from tests.publish.world import World

REPO = "/repos/ana/parser"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A real SQLite file and a real client over a transport."""
    store = open_store(DATABASES.of_folder(tmp_path))
    made = World(store, tmp_path / "bot.db")
    yield made
    await made.github.aclose()
    await store.close()


def test_what_is_wanted() -> None:
    """A reaction to stand, or one to be gone; 👎 is a reaction too."""
    assert [taken(body) for body in ("eyes", "-1", "without eyes", "without -1")] == [None, None, "eyes", "-1"]


async def runs_of(world: World, count: int, target: int | None = 4, kind: str = "comment") -> list[str]:
    """Runs that one text asked for, and its 👀 to be sent."""

    def work(session: Session) -> list[str]:
        first = rows.run(session, guid="g")
        asked = dispatches.get(session, first.dispatch_id)
        made = [first.id]
        for ordinal in range(1, count):
            more = Dispatch(**asked.model_dump(exclude={"id", "ordinal", "sequence"}), ordinal=ordinal, sequence=0)
            made.append(dispatches.accept(session, more, "ask", rows.NOW).id)
        react(session, Slot(f"dispatch/{asked.delivery_id}", "reaction-eyes"), "eyes", None, target, kind)
        return made

    return await world.store.write(work)


def react(
    session: Session, slot: Slot, content: str, run_id: str | None, target: int | None, kind: str = "comment"
) -> None:
    """A reaction in the outbox."""
    thread = rows.thread(session)
    thread.installation_id = 5
    session.add(thread)
    outbox.ensure(
        session, slot, thread_id=thread.id, action="reaction", purpose="reaction", body=content,
        now=rows.NOW, run_id=run_id, target_id=target, target_kind=kind,
    )  # fmt: skip


async def ends(world: World, run_id: str, content: str = "rocket") -> None:
    """A run ends, with its reaction, where it has one."""

    def work(session: Session) -> None:
        run = session.get_one(Run, run_id)
        run.state = RunState.SUCCEEDED if content else RunState.CANCELLED
        session.add(run)
        session.flush()
        if content:
            react(session, Slot(f"run/{run_id}", f"reaction-{content}"), content, run_id, 4)
        else:
            put_away(session, run_id, rows.NOW)

    await world.store.write(work)


def gone(world: World, path: str = f"{REPO}/issues/comments/4/reactions/1") -> int:
    """How often it was taken away."""
    return len(world.server.sent("DELETE", path))


async def test_with_the_end_and_not_before(world: World) -> None:
    """🚀 stands first; the row stays, and what is gone already is no fault."""
    path = f"{REPO}/issues/comments/4/reactions/1"
    world.server.on("DELETE", path, answer({"message": "Not Found"}, 404))
    (run_id,) = await runs_of(world, 1)
    await world.sender().sweep()
    assert gone(world) == 0
    await ends(world, run_id)
    await world.sender().sweep()
    assert gone(world) == 1
    writes = [(method, where) for method, where in world.server.writes() if "reactions" in where]
    assert [method for method, _ in writes] == ["POST", "POST", "DELETE"]
    states = await world.store.read(lambda session: {row.state for row in session.exec(select(Outbox))})
    assert states == {OutboxState.POSTED}


async def test_of_several_the_last(world: World) -> None:
    """One text that asked for two things keeps its sign until both have ended, however they do."""
    world.server.on("DELETE", f"{REPO}/issues/comments/4/reactions/1", httpx.Response(204))
    first, second = await runs_of(world, 2)
    await world.sender().sweep()
    await ends(world, first)
    await world.sender().sweep()
    assert gone(world) == 0
    await ends(world, second, "")
    await world.sender().sweep()
    assert gone(world) == 1
    await ends(world, second, "")
    await world.sender().sweep()
    assert gone(world) == 1


async def test_what_was_never_sent_is_not(world: World) -> None:
    """A run that ends before its 👀 left gets none."""
    (run_id,) = await runs_of(world, 1)
    await ends(world, run_id, "")
    await world.sender().sweep()
    assert world.server.writes() == []


@pytest.mark.parametrize(("kind", "target"), [("review_comment", 40), ("review", 3)])
async def test_in_reviews(world: World, kind: str, target: int) -> None:
    """From a review comment by the reaction's id, from a review by its word."""
    there = f"{REPO}/pulls/comments/40/reactions"
    world.server.on("POST", there, answer({"id": 9}, 201))
    world.server.on("DELETE", f"{there}/9", httpx.Response(204))
    review = {**review_comment("looks good", 3), "node_id": "PRR_3", "submitted_at": "2026-03-02T12:00:00Z"}
    world.server.on("GET", f"{REPO}/pulls/1/reviews/3", answer(review))
    world.server.on("POST", "/graphql", answer({"data": {"addReaction": {"reaction": {"content": "EYES"}}}}))
    (run_id,) = await runs_of(world, 1, target, kind)
    await world.sender().sweep()
    await ends(world, run_id, "")
    await world.sender().sweep()
    if kind == "review":
        assert b"removeReaction" in world.server.sent("POST", "/graphql")[-1].content
    else:
        assert gone(world, f"{there}/9") == 1


async def test_without_the_id(world: World) -> None:
    """What was put there without an answer is put there again, which tells the id, and taken away."""
    world.server.on("DELETE", f"{REPO}/issues/comments/4/reactions/1", httpx.Response(204))
    (run_id,) = await runs_of(world, 1)
    await world.sender().sweep()

    def forget(session: Session) -> None:
        for row in session.exec(select(Outbox)):
            row.posted_id = None
            session.add(row)

    await world.store.write(forget)
    await ends(world, run_id, "")
    await world.sender().sweep()
    assert gone(world) == 1
