"""What was deleted, or has ended, before it was looked at: it starts nothing, and its text is kept nowhere."""

from __future__ import annotations

from datetime import timedelta

import httpx
from sqlmodel import select

from bot.model.state import DeliveryState, DispatchState, RunState
from bot.store import Session
from bot.store.tables import CommentVersion, Delivery, Dispatch, Run, Thread
from tests.dispatch.happenings import issue_event
from tests.dispatch.scene import MEG, SAM, Scene, comment_payload
from tests.rows import ANA, NOW

DOWN = httpx.Response(500, json={"message": "Server Error"})
WORDS = "my-words"


async def kept(scene: Scene) -> list[str]:
    """Where the words still stand."""

    def look(session: Session) -> list[str]:
        found = ["delivery"] * any(WORDS.encode() in row.body for row in session.exec(select(Delivery)))
        found += ["version"] * any(WORDS in row.body for row in session.exec(select(CommentVersion)))
        for row in session.exec(select(Dispatch)):
            found += ["dispatch"] * any(WORDS in str(value) for value in (row.request, row.trigger, row.issue))
        return found

    return await scene.store.read(look)


async def gone(scene: Scene) -> str:
    """Why the thread has ended; empty where it has not."""
    return await scene.store.read(lambda s: s.exec(select(Thread)).one().gone)


async def test_a_comment_that_was_deleted_while_its_role_was_asked(scene: Scene) -> None:
    """It is looked at once more at once, starts nothing, and its text does not come back."""
    scene.configure("version: 1\n")
    scene.server.on("GET", scene.permission(ANA), DOWN)
    asked = await scene.says(ANA, f"@bot {WORDS}")
    assert (await scene.became(asked))[0] is DeliveryState.NEW
    await scene.deliver(comment_payload(f"@bot {WORDS}", action="deleted", at=NOW + timedelta(seconds=1)))
    await scene.settle()
    assert await scene.became(asked) == (DeliveryState.IGNORED, "what it tells of was deleted meanwhile")
    assert (await kept(scene), await scene.runs()) == ([], [])


async def test_a_comment_that_is_told_after_its_deletion(scene: Scene) -> None:
    """Deliveries come in any order; another sort of comment with the same number is another."""
    scene.configure("version: 1\n")
    await scene.says(ANA, f"@bot {WORDS}", action="deleted", at=NOW + timedelta(seconds=1))
    asked = await scene.says(ANA, f"@bot {WORDS}")
    assert (await scene.became(asked))[0] is DeliveryState.IGNORED
    assert (await kept(scene), await scene.runs()) == ([], [])
    await scene.says(ANA, "@bot something else", comment_id=502)
    assert len(await scene.runs()) == 1


async def test_a_delivery_that_failed_loses_its_text_too(scene: Scene) -> None:
    """Nobody could be told what became of it, and its comment is deleted."""
    scene.server.on("GET", "/repos/acme/widgets/commits/main", DOWN)
    failed = await scene.says(ANA, f"@bot {WORDS}")
    await scene.pass_time(timedelta(minutes=16))
    assert (await scene.became(failed))[0] is DeliveryState.FAILED
    await scene.says(ANA, f"@bot {WORDS}", action="deleted", at=NOW + timedelta(seconds=1))
    assert await kept(scene) == []


async def test_a_queued_retry_of_a_deleted_request_is_cancelled_and_told(scene: Scene) -> None:
    """Its words are those of the deleted comment; whoever tried it again is still there."""
    scene.configure("version: 1\n")
    await scene.says(ANA, f"@bot {WORDS}")
    (first,) = await scene.runs()

    def fail(session: Session) -> None:
        run = session.get_one(Run, first.id)
        run.state, run.ended_at = RunState.FAILED, NOW
        dispatch = session.get_one(Dispatch, run.dispatch_id)
        dispatch.state = DispatchState.DONE
        session.add_all([run, dispatch])

    await scene.store.write(fail)
    await scene.says(MEG, "@bot retry r1", comment_id=502, at=NOW + timedelta(seconds=5))
    assert (await scene.runs())[1].state is RunState.QUEUED
    await scene.says(ANA, f"@bot {WORDS}", action="deleted", at=NOW + timedelta(seconds=8))
    assert (await scene.runs())[1].state is RunState.CANCELLED
    assert await kept(scene) == []
    assert await scene.said() == ["r2 `ask` was cancelled by the deletion of the comment that asked."]


async def test_a_deleted_issue_leaves_no_text(scene: Scene) -> None:
    """Neither its own nor that of its comments: in versions, deliveries, dispatches, and what comes late."""
    scene.configure("version: 1\n")
    await scene.deliver(issue_event("opened", body=f"@bot {WORDS}"), "issues")
    payload = comment_payload(f"@bot and {WORDS}")
    payload["issue"]["body"] = f"@bot {WORDS}"
    await scene.deliver(payload)
    await scene.settle()
    assert set(await kept(scene)) == {"delivery", "version", "dispatch"}
    scene.server.on("GET", scene.permission(MEG), DOWN)
    waits = await scene.says(MEG, f"@bot {WORDS}", comment_id=503)
    await scene.deliver(issue_event("deleted", body=f"@bot {WORDS}"), "issues")
    await scene.settle()
    assert await scene.became(waits) == (DeliveryState.IGNORED, "what it tells of was deleted meanwhile")
    await scene.says(SAM, WORDS, comment_id=504, at=NOW - timedelta(seconds=1))
    assert await kept(scene) == []
    assert {run.state for run in await scene.runs()} == {RunState.CANCELLED}


async def test_what_happened_before_the_end_and_is_told_after_starts_nothing(scene: Scene) -> None:
    """The thread stays ended; built-ins do nothing either."""
    scene.configure("version: 1\n")
    await scene.says(ANA, "@bot hi", comment_id=501)
    await scene.deliver(issue_event("transferred"), "issues")
    await scene.settle()
    for number, words in enumerate(("@bot again", "@bot help", "@bot stop")):
        late = await scene.says(ANA, words, comment_id=888 + number, at=NOW - timedelta(seconds=2))
        assert "the thread had ended (transferred)" in (await scene.became(late))[1]
    assert (await gone(scene), [run.state for run in await scene.runs()]) == ("transferred", [RunState.CANCELLED])
    assert await scene.said() == []


async def test_what_happens_after_the_end_begins_the_thread_again(scene: Scene) -> None:
    """GitHub tells of it at a later moment: it is there."""
    scene.configure("version: 1\n")
    await scene.deliver(issue_event("transferred"), "issues")
    await scene.settle()
    later = NOW + timedelta(minutes=1)
    await scene.says(ANA, "@bot again", comment_id=888, at=later, created_at=later.strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert (await gone(scene), len(await scene.runs())) == ("", 1)
