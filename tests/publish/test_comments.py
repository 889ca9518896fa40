"""In the conversation or below a review comment: said, changed, found again, reacted to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.model.state import OutboxState
from bot.store import open_store
from tests.databases import DATABASES
from tests.github.fake import START, Answer, answer, comment_json, make_github

from .thread_server import BOT
from .world import MARKER, World

REPLIES = "/repos/ana/parser/pulls/1/comments/40/replies"
COMMENT = "/repos/ana/parser/pulls/comments/77"
LISTING = "/repos/ana/parser/pulls/1/comments"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A real SQLite file and a real client over a transport."""
    store = open_store(DATABASES.of_folder(tmp_path))
    made = World(store, tmp_path / "bot.db")
    yield made
    await made.github.aclose()
    await store.close()


def review_comment(body: str = "hello", comment_id: int = 77) -> dict[str, Any]:
    """One of ours below comment 40."""
    now = START.strftime("%Y-%m-%dT%H:%M:%SZ")
    made = comment_json(comment_id, user=BOT, body=body, created_at=now, updated_at=now)
    return {**made, "in_reply_to_id": 40, "path": "a.py", "diff_hunk": "@@", "pull_request_review_id": 3}


async def reply(world: World, body: str = "hello") -> str:
    return await world.say("run/1", body, target=40, target_kind="review_comment", on_pull=True)


async def test_a_reply_and_its_edit(world: World) -> None:
    """Below the review comment; changed there."""
    world.server.on("POST", REPLIES, answer(review_comment(), 201))
    world.server.on("PATCH", COMMENT, answer(review_comment("other")))
    row_id = await reply(world)
    sender = world.sender()
    await sender.sweep()
    await reply(world, "other")
    await sender.sweep()
    row = await world.row(row_id)
    assert (row.state, row.posted_id) == (OutboxState.POSTED, 77)
    assert world.server.writes() == [("POST", REPLIES), ("PATCH", COMMENT)]


async def test_a_reply_without_an_answer(world: World) -> None:
    """Is found by its marker among the review comments; of two the younger is deleted."""
    signed: list[str] = []

    def lost(request: httpx.Request) -> httpx.Response:
        signed.append(httpx.Response(200, content=request.content).json()["body"])
        raise httpx.ReadTimeout("no answer", request=request)

    def listing(_request: httpx.Request) -> httpx.Response:
        return answer(
            [review_comment("not ours to find"), review_comment(signed[0], 78), review_comment(signed[0], 79)]
        )

    world.server.on("POST", REPLIES, lost)
    world.server.on("GET", LISTING, listing)
    world.server.on("DELETE", "/repos/ana/parser/pulls/comments/79", httpx.Response(204))
    row_id = await reply(world)
    await world.at(world.sender(), 0, 5)
    row = await world.row(row_id)
    assert (row.state, row.posted_id) == (OutboxState.POSTED, 78)
    assert [method for method, _ in world.server.writes()] == ["POST", "DELETE"]


@pytest.mark.parametrize("refusal", [answer({"message": "Not Found"}, 404), answer({"message": "Validation"}, 422)])
async def test_a_comment_that_takes_no_reply(world: World, refusal: Answer) -> None:
    """Deleted, or a reply itself: the answer is said in the conversation."""
    world.server.on("POST", REPLIES, refusal)
    row_id = await reply(world)
    await world.sender().sweep()
    assert world.server.texts() == ["hello\r"]
    row = await world.row(row_id)
    assert (row.state, row.target_id, row.target_kind) == (OutboxState.POSTED, None, "comment")
    mark = MARKER.find(world.server.comments[1]["body"], repository_id=7, thread=1)
    assert mark is not None


async def test_reactions_on_reviews(world: World) -> None:
    """On a review comment by its id, on a review by its node id; on one that is not there none."""
    world.server.on("POST", "/repos/ana/parser/pulls/comments/40/reactions", answer({"id": 1}, 201))
    review = {**review_comment("looks good", 3), "node_id": "PRR_3", "submitted_at": "2026-03-02T12:00:00Z"}
    world.server.on("GET", "/repos/ana/parser/pulls/1/reviews/3", answer(review))
    world.server.on("POST", "/graphql", answer({"data": {"addReaction": {"reaction": {"id": "x"}}}}))
    wanted = [
        await world.say(f"dispatch/{number}", "eyes", purpose="reaction", action="reaction", target=target,
                        target_kind=kind, on_pull=True)
        for number, (target, kind) in enumerate([(40, "review_comment"), (3, "review"), (4, "review")])
    ]  # fmt: skip
    await world.sender(at_once=1).sweep()
    states = [await world.state(row) for row in wanted]
    assert states == [OutboxState.POSTED, OutboxState.POSTED, OutboxState.DROPPED]
    assert [path for _, path in world.server.writes()] == [
        "/repos/ana/parser/pulls/comments/40/reactions",
        "/graphql",
    ]
    assert b"PRR_3" in world.server.sent("POST", "/graphql")[0].content


async def test_a_deleted_comment_takes_no_reaction(world: World) -> None:
    """It alone is gone: nothing else of the thread is given up."""
    gone = await world.say("dispatch/1", "eyes", purpose="reaction", action="reaction", target=40,
                           target_kind="review_comment", on_pull=True)  # fmt: skip
    said = await world.say("run/1", purpose="status", on_pull=True)
    await world.sender(at_once=1).sweep()
    assert (await world.row(gone)).reason == "comment_deleted"
    assert await world.state(said) is OutboxState.POSTED


async def test_not_before(world: World) -> None:
    """Nothing is sent before its time; the newest wish counts, and the last edit may come at once."""
    later = START + timedelta(seconds=15)
    await world.say("run/1", "one", purpose="status")
    sender = world.sender()
    await sender.sweep()
    await world.say("run/1", "two", purpose="status", not_before=later)
    assert await sender.sweep() == later
    await world.at(sender, 14)
    assert world.server.texts() == ["one\r"]
    await world.say("run/1", "three", purpose="status", not_before=START + timedelta(seconds=20))
    await world.at(sender, 19)
    assert world.server.texts() == ["one\r"]
    await world.say("run/1", "done", purpose="status")
    await sender.sweep()
    assert world.server.texts() == ["done\r"]


async def test_a_limit_outlasts_a_wish(world: World) -> None:
    """What GitHub put off is not sent sooner because its text changed."""
    world.server.faults.append(lambda _request: answer({"message": "secondary rate limit"}, 403, retry_after="100"))
    row_id = await world.say("run/1", "one", purpose="status")
    await world.sender().sweep()
    await world.say("run/1", "two", purpose="status", not_before=START + timedelta(seconds=15))
    assert (await world.row(row_id)).not_before == START + timedelta(seconds=100)
    await world.say("run/1", "three", purpose="status", not_before=START + timedelta(seconds=200))
    assert (await world.row(row_id)).not_before == START + timedelta(seconds=200)


async def test_a_wish_while_it_is_sent(world: World) -> None:
    """The edit that follows waits for its time too."""
    later = START + timedelta(seconds=15)

    async def call(request: httpx.Request) -> httpx.Response:
        if request.method == "POST" and request.url.path.endswith("/comments"):
            await world.say("run/1", "two", purpose="status", not_before=later)
        return await world.server.handle(request)

    world.github = make_github(world.server, transport=httpx.MockTransport(call))
    row_id = await world.say("run/1", "one", purpose="status")
    await world.sender().sweep()
    row = await world.row(row_id)
    assert (row.state, row.not_before, world.server.texts()) == (OutboxState.PENDING, later, ["one\r"])
