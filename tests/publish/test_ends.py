"""Locked, deleted, transferred, App removed: an end with a reason, told once, for all that shares it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlmodel import select

from bot.model.slot import Slot
from bot.model.state import GateState, OutboxState, RunState
from bot.store import Session, open_store, outbox
from bot.store.tables import Attempt, Frame, Gate, Outbox, Run, Thread
from tests import rows
from tests.databases import DATABASES
from tests.github.fake import START, answer

from .thread_server import says
from .world import World, where

LOCKED = says(403, "Unable to create comment because issue is locked.")
MOVED = says(301, "Moved Permanently", location="https://api.github.test/repositories/8/issues/9/comments")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A real SQLite file and a real client over a transport."""
    store = open_store(DATABASES.of_folder(tmp_path))
    made = World(store, tmp_path / "bot.db")
    yield made
    await made.github.aclose()
    await store.close()


async def much(world: World) -> dict[str, str]:
    """Something of each kind, in threads 1, 2 and, of another installation, 3."""
    wanted = {
        "result": await world.say("run/1"),
        "status": await world.say("run/1", "working", purpose="status"),
        "eyes": await world.say("dispatch/1", "eyes", purpose="reaction", action="reaction"),
        "labels": await world.say("run/1", '{"add":["bug"]}', purpose="action", action="labels"),
        "pull": await world.say("run/1.pull", "{}", purpose="action", action="pull_request"),
        "hook": await world.say("run/1.hook", "{}", purpose="action", action="webhook"),
        "other thread": await world.say("run/2", thread=2),
        "elsewhere": await world.say("run/3", thread=3, installation=6),
    }

    def later(session: Session) -> None:
        for name, row_id in wanted.items():
            if name != "result":
                session.get_one(Outbox, row_id).not_before = START + timedelta(seconds=60)

    await world.store.write(later)
    return wanted


async def dropped(world: World, wanted: dict[str, str]) -> dict[str, str]:
    """What was dropped, with the reason."""
    states = {name: await world.row(row_id) for name, row_id in wanted.items()}
    return {name: row.reason for name, row in states.items() if row.state is OutboxState.DROPPED}


SAID = ("result", "status", "eyes")
THREAD = (*SAID, "labels")
REPOSITORY = (*THREAD, "pull", "other thread", "elsewhere")


@pytest.mark.parametrize(
    ("fault", "reason", "names"),
    [
        (LOCKED, "locked", SAID),
        (says(410, "This issue was deleted"), "deleted", THREAD),
        (MOVED, "transferred", THREAD),
        (says(410, "Issues has been disabled in this repository."), "issues_disabled", THREAD),
        (says(404, "Not Found"), "not_found", THREAD),
        (says(403, "Repository was archived so is read-only."), "archived", REPOSITORY),
        (says(451, "Repository access blocked"), "blocked", REPOSITORY),
    ],
)
async def test_one_answer_is_enough(
    world: World, fault: Callable[[httpx.Request], httpx.Response | None], reason: str, names: tuple[str, ...]
) -> None:
    """All that shares the cause is dropped with the same word, without a call of its own; nothing else is."""
    wanted = await much(world)
    world.server.faults.append(fault)
    await world.sender().sweep()
    assert await dropped(world, wanted) == dict.fromkeys(names, reason)
    assert len(world.server.writes()) == 1


@pytest.mark.parametrize(
    ("status", "message", "reason", "names"),
    [
        (404, "Not Found", "app_removed", (*THREAD, "pull", "other thread")),
        (403, "This installation has been suspended", "suspended", (*THREAD, "pull", "other thread")),
        (
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
            "repository_removed",
            REPOSITORY,
        ),
    ],
)
async def test_without_a_token(world: World, status: int, message: str, reason: str, names: tuple[str, ...]) -> None:
    """The App was removed or suspended: nothing is sent at all, and one token is asked for."""
    wanted = await much(world)
    world.server.mint_answers = [answer({"message": message}, status)]
    await world.sender().sweep()
    assert await dropped(world, wanted) == dict.fromkeys(names, reason)
    assert world.server.writes() == []


async def test_a_missing_permission_is_named(world: World) -> None:
    """What takes it everywhere in the installation is dropped; what takes another is tried."""
    wanted = await much(world)
    on_pull = await world.say("run/4", thread=4, on_pull=True)
    message = "The permissions requested are not granted to this installation."
    world.server.mint_answers = [answer({"message": message}, 422)]
    world.server.on("GET", "/app/installations/5", answer({"permissions": {"metadata": "read"}}))
    await world.sender(at_once=1).sweep()
    assert await dropped(world, wanted) == dict.fromkeys((*THREAD, "other thread"), "permission_missing: issues: write")
    assert await world.state(on_pull) is OutboxState.POSTED


async def test_a_token_that_does_not_do(world: World) -> None:
    """The post alone is refused, with what GitHub says that it takes."""
    refused = says(
        403,
        "Resource not accessible by integration",
        x_accepted_github_permissions="issues=write; pull_requests=write",
    )
    world.server.faults += [refused, refused]
    first, second = await world.say("run/1"), await world.say("run/2", thread=2)
    await world.sender(at_once=1).sweep()
    assert (await world.row(first)).reason == "permission_missing: issues: write"
    assert await world.state(second) is OutboxState.POSTED


async def test_a_thread_that_is_gone_stays_gone(world: World) -> None:
    """What a run says later goes without a call, until GitHub tells of the thread again."""
    await world.say("run/1")
    world.server.faults.append(says(410, "This issue was deleted"))
    sender = world.sender()
    await sender.sweep()

    def again(session: Session) -> str:
        thread = session.exec(select(Thread)).one()
        return outbox.ensure(
            session, Slot("run/2", "error"), thread_id=thread.id, action="comment", purpose="error", body="b", now=START
        ).id

    row_id = await world.store.write(again)
    await sender.sweep()
    row = await world.row(row_id)
    assert (row.state, row.reason) == (OutboxState.DROPPED, "deleted")
    assert len(world.server.writes()) == 1

    def alive(session: Session) -> None:
        thread = session.exec(select(Thread)).one()
        assert thread.gone == "deleted"
        thread.gone, thread.gone_at = "", None
        session.add(thread)

    await world.store.write(alive)
    back = await world.say("run/3")
    await sender.sweep()
    assert await world.state(back) is OutboxState.POSTED


async def test_unlocked_again(world: World) -> None:
    """What was dropped stays so; what is said later is said."""
    first, index = await world.say("run/1"), await world.say("thread/1", "one pin", purpose="index")
    world.server.faults.append(LOCKED)
    sender = world.sender(at_once=1)
    await sender.sweep()
    await world.say("thread/1", "two pins", purpose="index")
    await world.say("run/2")
    await sender.sweep()
    assert sorted(world.server.texts()) == ["run/2\r", "two pins\r"]
    assert [await world.state(row) for row in (first, index)] == [OutboxState.DROPPED, OutboxState.POSTED]


async def test_what_is_unsure_is_looked_for_in_a_locked_thread(world: World) -> None:
    """It may stand there; in a deleted one it cannot."""
    world.server.faults += [world.server.lost, LOCKED]
    unsure = await world.say("run/1", purpose="command")
    sender = world.sender(at_once=1)
    await sender.sweep()
    await world.say("run/2")
    await sender.sweep()
    assert await world.state(unsure) is OutboxState.UNSURE
    await world.at(sender, 5)
    assert await world.state(unsure) is OutboxState.POSTED

    world.server.faults += [world.server.lost, says(410, "This issue was deleted")]
    unsure = await world.say("run/3", purpose="command", thread=2)
    await sender.sweep()
    await world.say("run/4", thread=2)
    await sender.sweep()
    assert await world.state(unsure) is OutboxState.DROPPED


async def test_nobody_knows_us(world: World) -> None:
    """A key that GitHub does not take is for the operator to mend: everything waits, and nothing is lost."""
    world.server.jwt_refusal = "A JSON web token could not be decoded"
    wanted = [await world.say(f"run/{number}", thread=number) for number in (1, 2)]
    sender = world.sender(at_once=1)
    await world.at(sender, 0, 59)
    assert [await world.state(row) for row in wanted] == [OutboxState.PENDING] * 2
    assert len(world.server.requests) <= 2
    world.server.jwt_refusal = ""
    await world.at(sender, 60)
    assert [await world.state(row) for row in wanted] == [OutboxState.POSTED] * 2


async def test_a_look_by_nobody(world: World) -> None:
    """What is unsure stays so while GitHub does not know us."""
    world.server.faults.append(world.server.lost)
    row_id = await world.say("run/1")
    sender = world.sender()
    await sender.sweep()
    world.server.valid.clear()
    world.server.jwt_refusal = "A JSON web token could not be decoded"
    await world.at(sender, 5)
    assert await world.state(row_id) is OutboxState.UNSURE
    world.server.jwt_refusal = ""
    await world.at(sender, 95)
    assert await world.state(row_id) is OutboxState.POSTED
    assert len(world.server.comments) == 1


async def test_who_waits_is_woken(world: World) -> None:
    """An attempt whose posts were dropped with another's hears of it."""

    def begin(session: Session) -> str:
        run = rows.run(session, guid="g1")
        run.state = RunState.WAITING
        frame = Frame(run_id=run.id)
        session.add(frame)
        session.flush()
        attempt = Attempt(run_id=run.id, frame_id=frame.id, step="tell", kind="notify", number=1, started_at=START)
        session.add(attempt)
        session.flush()
        outbox.ensure(
            session, Slot(f"run/{run.id}", "comment.a"), thread_id=where(session, 1).id, action="comment",
            purpose="output", body="b", now=START, run_id=run.id, attempt_id=attempt.id,
            not_before=START + timedelta(seconds=60),
        )  # fmt: skip
        return run.id

    run_id = await world.store.write(begin)
    await world.say("dispatch/1", purpose="command")
    world.server.faults.append(LOCKED)
    await world.sender().sweep()
    run = await world.store.read(lambda session: session.get_one(Run, run_id))
    assert run.state is RunState.QUEUED


@pytest.mark.parametrize(("state", "time"), [(GateState.OPEN, 1), (GateState.OPEN, 2), (GateState.ANSWERED, 1)])
async def test_a_gate_whose_comment_was_deleted(world: World, state: GateState, time: int) -> None:
    """Is asked in a new comment where that one asks; an end, or what another one asks again by now, is told nobody."""

    def begin(session: Session) -> Slot:
        run = rows.run(session, guid="g1")
        frame = Frame(run_id=run.id)
        session.add(frame)
        session.flush()
        attempt = Attempt(run_id=run.id, frame_id=frame.id, step="approve", kind="ask", number=1, started_at=START)
        session.add(attempt)
        session.flush()
        session.add(Gate(attempt_id=attempt.id, run_id=run.id, question="?", digest="d", state=state, asked=time))
        return Slot(f"run/{run.id}", "gate", "/", "approve", 1)

    slot = await world.store.write(begin)

    def ask(session: Session, body: str) -> None:
        outbox.ensure(
            session, slot, thread_id=where(session, 1).id, action="comment", purpose="gate", body=body, now=START,
            run_id=slot.scope.removeprefix("run/"),
        )  # fmt: skip

    sender = world.sender()
    await world.store.write(lambda session: ask(session, "Build?"))
    await sender.sweep()
    world.server.comments.clear()
    await world.store.write(lambda session: ask(session, "Build it?"))
    await sender.sweep()
    row = await world.store.read(lambda session: outbox.find(session, slot))
    assert row is not None
    if (state, time) == (GateState.OPEN, 1):
        assert (world.server.texts(), row.state) == (["Build it?\r"], OutboxState.POSTED)
    else:
        assert (world.server.texts(), row.state, row.reason) == ([], OutboxState.DROPPED, "comment_deleted")
