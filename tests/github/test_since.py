"""What was said since, and who edited it, on the look-alike, every exchange checked."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.errors import Forbidden, NotFound
from tests.demo.scene import Scene, scene
from tests.github.fake import START, FakeGitHub, answer, make_client
from tests.github.lookalike import client_of


async def test_comments_and_threads_since(tmp_path: Path) -> None:
    """By their last change, oldest first, of all threads, closed ones too; what is older is left out."""
    made = scene(tmp_path)
    world, client = made.world, client_of(made)
    early = world.comment(made.repo, 1, "sam", "early")
    world.comment(made.repo, 1, "sam", "old")
    made.clock.advance(3600)
    since = made.clock.now()
    second = world.open_issue(made.repo, "sam", "Second")
    late = world.comment(made.repo, 2, "sam", "late")
    made.clock.advance(5)
    world.edit_comment(early.id, "meg", "early, edited")
    world.set_state(made.repo, 2, "meg", "closed")
    told = await client.comments_told(since)
    assert [(one["id"], one["body"]) for one in told] == [(late.id, "late"), (early.id, "early, edited")]
    assert [one["number"] for one in await client.threads_told(since)] == [second.number]
    assert (await client.thread_told(1))["title"] == "Crash on an empty size"
    assert [one["id"] for one in await client.comments_told(since + timedelta(hours=1))] == []


async def test_who_edited(tmp_path: Path) -> None:
    """Nobody; then the writer comes first, and after them each edit."""
    made = scene(tmp_path)
    world, client = made.world, client_of(made)
    comment = world.comment(made.repo, 1, "sam", "one")
    (told,) = await client.comments_told(comment.created_at)
    assert await client.editors(told["node_id"], pull_request=False) == ()
    made.clock.advance(60)
    world.edit_comment(comment.id, "meg", "two")
    world.edit_issue(made.repo, 1, "ana", body="changed")
    edits = await client.editors(told["node_id"], pull_request=False)
    assert edits is not None
    assert [(at, who.login, who.id) for at, who in edits] == [
        (comment.created_at, "sam", world.user("sam").id),
        (comment.updated_at, "meg", world.user("meg").id),
    ]
    edits = await client.editors((await client.thread_told(1))["node_id"], pull_request=False)
    assert [who.login for _, who in edits or ()] == ["meg", "ana"]
    assert await client.editors("nowhere", pull_request=False) is None


async def test_who_edited_a_pull_request(tmp_path: Path) -> None:
    """With the token for pull requests, which alone shows it."""
    made: Scene = scene(tmp_path)
    world, client = made.world, client_of(made)
    world.write_file(made.repo, "x", "y", "meg", "x", branch="topic")
    pull = world.open_pull(made.repo, "meg", "Title", head="topic", body="one")
    made.clock.advance(60)
    world.edit_issue(made.repo, pull.issue.number, "ana", body="two")
    told = await client.thread_told(pull.issue.number)
    edits = await client.editors(told["node_id"], pull_request=True)
    assert [who.login for _, who in edits or ()] == ["meg", "ana"]
    assert (await client.pull_told(pull.issue.number))["head"]["ref"] == "topic"
    with pytest.raises(Forbidden):
        await client.editors(told["node_id"], pull_request=False)


async def test_a_server_that_does_not_know_since() -> None:
    """It sends everything; what is older is left out here."""
    server = FakeGitHub()
    rows = [{"id": day, "updated_at": f"2026-03-0{day}T12:00:00Z"} for day in (1, 2, 3)]
    server.on("GET", "/repos/ana/parser/issues/comments", answer(rows))
    assert [one["id"] for one in await make_client(server).comments_told(START)] == [2, 3]


async def test_edits_that_github_does_not_tell() -> None:
    """More than it lists is None; an editor who is gone, or has no number, is nobody."""
    server = FakeGitHub()
    client = make_client(server)

    def edits(count: int, *editors: object) -> object:
        nodes = [{"editedAt": "2026-03-02T12:00:00Z", "editor": one} for one in editors]
        return answer({"data": {"node": {"userContentEdits": {"totalCount": count, "nodes": nodes}}}})

    mannequin = {"__typename": "Mannequin", "login": "x"}
    missing = answer({"data": {"node": {"userContentEdits": None}}})
    server.on("POST", "/graphql", edits(2, None), edits(2, None, mannequin), missing)  # type: ignore[arg-type]
    assert await client.editors("n", pull_request=False) is None
    found = await client.editors("n", pull_request=False)
    assert [who.is_deleted for _, who in found or ()] == [True, True]
    assert await client.editors("n", pull_request=False) == ()


async def test_a_thread_that_is_gone(tmp_path: Path) -> None:
    """As everywhere."""
    with pytest.raises(NotFound):
        await client_of(scene(tmp_path)).thread_told(9)
