"""Review threads of the look-alike: answered, edited, emptied, outdated; verdicts dismissed; reactions to reviews."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.demo.records import Pull
from bot.demo.refusal import Refused
from bot.demo.reviews import Remark
from bot.demo.shapes.common import node_id
from tests.contract.openapi import complaints, component
from tests.contract.pull_routes import with_pull
from tests.demo.scene import Scene, scene
from tests.demo.test_pulls import told


def reviewed(made: Scene) -> Pull:
    """meg's pull request with ana's review: two threads of one comment each."""
    pull = with_pull(made)
    remarks = [Remark("src/size.py", "Why 0?", 2), Remark("docs/size.md", "More.", 1)]
    made.world.review(made.repo, pull.number, "ana", "Nearly.", state="CHANGES_REQUESTED", remarks=remarks)
    return pull


async def test_an_answer_of_the_app(tmp_path: Path) -> None:
    """It stands in the thread, its sender is the App's bot; answers go to the first comment of a thread only."""
    made = scene(tmp_path)
    pull = reviewed(made)
    first = pull.review_threads[0].comments[0]
    here = made.path(f"/pulls/{pull.number}/comments")
    async with made.as_installation() as bot:
        row = (await bot.post(f"{here}/{first.id}/replies", json={"body": "Because."})).json()
        assert (row["in_reply_to_id"], row["path"], row["line"]) == (first.id, "src/size.py", 2)
        assert (await bot.post(f"{here}/{row['id']}/replies", json={"body": "x"})).status_code == 404
        assert (await bot.post(f"{here}/1/replies", json={"body": "x"})).status_code == 404
    (action, payload) = told(made, "pull_request_review_comment")[-1]
    assert (action, payload["sender"]["login"], payload["comment"]["user"]["type"]) == ("created", "bot[bot]", "Bot")
    review = told(made, "pull_request_review")[-1][1]["review"]
    assert (review["state"], review["body"], review["id"]) == ("commented", None, row["pull_request_review_id"])


async def test_edits_of_review_comments(tmp_path: Path) -> None:
    """By its author and by writers, who may empty it on the page; not by readers, not emptied through REST."""
    made = scene(tmp_path)
    world, pull = made.world, reviewed(made)
    comment = pull.review_threads[0].comments[0]
    made.clock.advance(60)
    world.edit_review_comment(comment.id, "meg", "")
    world.edit_review_comment(comment.id, "meg", "")
    (edited,) = (payload for action, payload in told(made, "pull_request_review_comment") if action == "edited")
    assert edited["changes"] == {"body": {"from": "Why 0?"}}
    assert (edited["sender"]["login"], edited["comment"]["user"]["login"]) == ("meg", "ana")
    assert edited["comment"]["updated_at"] > edited["comment"]["created_at"]
    with pytest.raises(Refused):
        world.edit_review_comment(comment.id, "sam", "x")
    with pytest.raises(Refused):
        world.delete_review_comment(comment.id, "sam")
    async with made.as_installation(pull_requests="write") as bot:
        there = made.path(f"/pulls/comments/{comment.id}")
        assert (await bot.patch(there, json={"body": " "})).status_code == 422
        assert (await bot.patch(there, json={"body": "Why?"})).json()["body"] == "Why?"
        since = {"since": "2025-11-03T10:01:00Z"}
        rows = (await bot.get(made.path(f"/pulls/{pull.number}/comments"), params=since)).json()
        assert [row["id"] for row in rows] == [comment.id]
        assert (await bot.delete(there)).status_code == 204
        assert (await bot.get(there)).status_code == 404
    assert len(pull.review_threads) == 1
    (gone,) = (payload for action, payload in told(made, "pull_request_review_comment") if action == "deleted")
    assert (gone["comment"]["id"], gone["sender"]["login"]) == (comment.id, "bot[bot]")


async def test_a_locked_pull_request(tmp_path: Path) -> None:
    """Writers go on; the App is refused in its reviews as in the conversation."""
    made = scene(tmp_path)
    pull = reviewed(made)
    made.world.lock(made.repo, pull.number, "meg", "resolved")
    here, first = made.path(f"/pulls/{pull.number}"), pull.review_threads[0].comments[0]
    async with made.as_installation() as bot:
        for path, said in (
            (f"{here}/comments/{first.id}/replies", {"body": "x"}),
            (f"{here}/reviews", {"body": "x", "event": "COMMENT"}),
            (made.path(f"/issues/{pull.number}/comments"), {"body": "x"}),
        ):
            answer = await bot.post(path, json=said)
            assert (answer.status_code, answer.json()["message"]) == (
                403, "Unable to create comment because issue is locked.",
            )  # fmt: skip
    made.world.reply(first.id, "meg", "Still here.")
    with pytest.raises(Refused):
        made.world.reply(first.id, "sam", "Me too.")
    assert [action for action, _ in told(made, "pull_request")] == ["opened", "locked"]


def test_a_branch_that_is_taken_away(tmp_path: Path) -> None:
    """Its pull request is closed by whoever did it, without a role here too."""
    made = scene(tmp_path)
    fork = made.world.fork(made.repo, "sam")
    made.world.write_file(fork, "a", "b", "sam", branch="x")
    pull = made.world.open_pull(made.repo, "sam", "From afar", head="sam:x")
    made.world.delete_branch(fork, "x", "sam")
    assert (pull.issue.state, pull.issue.closed_by) == ("closed", made.world.user("sam"))
    action, payload = told(made, "pull_request")[-1]
    assert (action, payload["sender"]["login"]) == ("closed", "sam")


async def test_newest_review_comments_first(tmp_path: Path) -> None:
    """The direction counts beside `sort` only."""
    made = scene(tmp_path)
    pull = reviewed(made)
    ids = sorted(one.id for thread in pull.review_threads for one in thread.comments)
    here = made.path(f"/pulls/{pull.number}/comments")
    async with made.as_installation() as bot:

        async def listed(**params: str) -> list[int]:
            return [row["id"] for row in (await bot.get(here, params=params)).json()]

        assert await listed(direction="desc") == ids
        assert await listed(direction="desc", sort="created") == ids[::-1]


def test_reviews_are_edited_and_dismissed(tmp_path: Path) -> None:
    """An edit may empty a review's text; a verdict can be dismissed, a comment not; each is told in payload's words."""
    made = scene(tmp_path)
    world, pull = made.world, reviewed(made)
    review = pull.reviews[0]
    world.edit_review(review, "meg", "")
    world.dismiss(review, "meg")
    comment = world.review(made.repo, pull.number, "ana", "Just saying.")
    for refused in (comment, review):
        with pytest.raises(Refused):
            world.dismiss(refused, "meg")
    with pytest.raises(Refused):
        world.edit_review(review, "sam", "x")
    events = [(action, payload["review"]["state"], payload["sender"]["login"])
              for action, payload in told(made, "pull_request_review")]  # fmt: skip
    assert events == [
        ("submitted", "changes_requested", "ana"), ("edited", "changes_requested", "meg"),
        ("dismissed", "dismissed", "meg"), ("submitted", "commented", "ana"),
    ]  # fmt: skip
    edited = told(made, "pull_request_review")[1][1]
    assert (edited["review"]["body"], edited["changes"]) == (None, {"body": {"from": "Nearly."}})
    shown = {**edited["review"], "body": ""}
    assert complaints(component("pull-request-review"), shown) == []


def test_a_push_makes_threads_outdated(tmp_path: Path) -> None:
    """Those whose line is no longer what it was; the others stay."""
    made = scene(tmp_path)
    pull = reviewed(made)
    changed, kept = pull.review_threads
    made.world.write_file(made.repo, "src/size.py", "def parse_size(text):\n    return 1\n", "meg", branch=pull.head)
    assert (changed.outdated, kept.outdated) == (True, False)
    made.world.comment(made.repo, pull.number, "ana", "x")
    made.world.edit_review_comment(changed.comments[0].id, "ana", "Still?")
    told_now = told(made, "pull_request_review_comment")[-1][1]["comment"]
    assert (told_now.get("line"), told_now["original_line"]) == (None, 2)


async def _mutate(bot: httpx.AsyncClient, made: Scene, subject: str, content: str, deed: str = "addReaction") -> Any:
    text = (
        "mutation($s: ID!, $c: ReactionContent!) "
        f"{{ {deed}(input: {{subjectId: $s, content: $c}}) {{ reaction {{ content }} }} }}"
    )
    body = {"query": text, "variables": {"s": subject, "c": content}}
    return (await bot.post(f"{made.world.site_url}/api/graphql", json=body)).json()


async def test_reactions_to_a_review(tmp_path: Path) -> None:
    """Through GraphQL alone; twice is once; with the permission for pull requests."""
    made = scene(tmp_path)
    review = reviewed(made).reviews[0]
    subject = node_id("PullRequestReview", review.id)
    async with made.as_installation(pull_requests="write") as bot:
        for _ in range(2):
            answer = await _mutate(bot, made, subject, "EYES")
            assert answer["data"] == {"addReaction": {"reaction": {"content": "EYES"}}}
        assert (await _mutate(bot, made, "nothing", "EYES"))["errors"][0]["type"] == "NOT_FOUND"
        assert (await _mutate(bot, made, subject, "eyes"))["data"] is None
    assert [(one.content, one.user) for one in review.reactions] == [("eyes", made.app.bot)]
    async with made.as_installation(issues="write") as bot:
        assert (await _mutate(bot, made, subject, "ROCKET"))["errors"][0]["type"] == "FORBIDDEN"
        assert (await _mutate(bot, made, subject, "EYES", "removeReaction"))["errors"][0]["type"] == "FORBIDDEN"
    assert len(review.reactions) == 1
    made.world.react(review, "meg", "eyes")
    made.world.react(review, made.app.bot, "rocket")
    async with made.as_installation(pull_requests="write") as bot:
        for shown in ({"content": "EYES"}, None):
            answer = await _mutate(bot, made, subject, "EYES", "removeReaction")
            assert answer["data"] == {"removeReaction": {"reaction": shown}}
    # one's own, and of that word
    assert [(one.content, one.user.login) for one in review.reactions] == [("eyes", "meg"), ("rocket", "bot[bot]")]


def test_ticks(tmp_path: Path) -> None:
    """A click on a box is an edit by whoever clicked, of the bot's comment too."""
    made = scene(tmp_path)
    text = "Build it?\n\n- [ ] approve\n- [ ] stop"
    comment = made.world.comment(made.repo, 1, made.app.bot, text, app=made.app)
    made.world.tick(comment.id, "meg", "approve")
    assert comment.body == "Build it?\n\n- [x] approve\n- [ ] stop"
    payload = made.world.deliveries[-1].payload()
    assert (payload["action"], payload["sender"]["login"], payload["changes"]) == (
        "edited", "meg", {"body": {"from": text}},
    )  # fmt: skip
    assert payload["comment"]["performed_via_github_app"]["id"] == made.app.id
    made.world.tick(comment.id, "meg", "approve", ticked=False)
    assert comment.body == text
    for who, option in (("meg", "revise"), ("sam", "stop")):
        with pytest.raises(Refused):
            made.world.tick(comment.id, who, option)
    made.world.edit_comment(comment.id, "meg", "")
    assert made.world.deliveries[-1].payload()["comment"]["body"] == ""
