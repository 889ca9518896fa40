"""Talking in review threads, against the look-alike, every exchange checked."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.records import Pull
from bot.demo.reviews import Remark
from bot.errors import Forbidden, NotFound, Transient, Unsure
from bot.github.parse import comment as parsed
from tests.contract.pull_routes import with_pull
from tests.demo.scene import Scene, scene
from tests.github.fake import FakeGitHub, answer, comment_json, make_client
from tests.github.lookalike import client_of

REPO = "/repos/ana/parser"
#: the kind of a comment about lines
REMARK = "review_comment"


def reviewed(made: Scene) -> Pull:
    """meg's pull request with ana's review of two lines."""
    pull = with_pull(made)
    remarks = [Remark("src/size.py", "Why 0?", 2, start_line=1), Remark("src/size.py", "Gone", 2, "LEFT")]
    made.world.review(made.repo, pull.number, "ana", "Nearly.", state="CHANGES_REQUESTED", remarks=remarks)
    return pull


async def test_an_answer_stands_in_its_thread(tmp_path: Path) -> None:
    """With the place that it answers; one's own can be changed and taken back."""
    made = scene(tmp_path)
    pull, client = reviewed(made), client_of(made)
    first, second = (thread.comments[0] for thread in pull.review_threads)
    said = await client.reply_to_review_comment(pull.number, first.id, "Because.")
    assert (said.kind, said.body, said.author.login) == ("review_comment", "Because.", "bot[bot]")
    assert said.place is not None
    assert (said.place.path, said.place.line, said.place.side) == ("src/size.py", 2, "RIGHT")
    assert said.place.root_id == first.id
    assert said.place.review_id == pull.reviews[-1].id
    assert said.place.hunk.endswith("+    return int(text or 0)")
    edited = await client.edit_comment(said.id, "Because nothing is nothing.", kind=REMARK)
    assert edited == await client.review_comment(said.id)
    assert edited.body == "Because nothing is nothing."
    await client.delete_comment(said.id, kind=REMARK)
    with pytest.raises(NotFound):
        await client.review_comment(said.id)
    with pytest.raises(NotFound):
        await client.reply_to_review_comment(pull.number, said.id, "x")
    left = await client.review_comment(second.id)
    assert left.place is not None
    assert (left.place.side, left.place.root_id) == ("LEFT", second.id)
    made.world.write_file(made.repo, "src/size.py", "pass\n", "meg", branch=pull.head)
    moved_on = await client.review_comment(first.id)
    assert moved_on.place is not None
    assert moved_on.place.line == 2


async def test_pages_of_a_review(tmp_path: Path) -> None:
    """The newest are on the last page, which the first one names; comments that changed since can be asked for."""
    made = scene(tmp_path)
    pull, client = reviewed(made), client_of(made)
    first = pull.review_threads[0].comments[0]
    made.clock.advance(60)
    for number in range(3):
        made.world.reply(first.id, "meg", f"answer {number}")
    page = await client.review_comments_page(pull.number, 1, 2)
    assert ([one.body for one in page.items], page.last) == (["Why 0?", "Gone"], 3)
    newest = await client.review_comments_page(pull.number, page.last, 2)
    assert ([one.body for one in newest.items], newest.last) == (["answer 2"], 3)
    reviews = await client.reviews_page(pull.number, 1)
    assert [one.review_state for one in reviews.items] == ["CHANGES_REQUESTED"] + ["COMMENTED"] * 3
    assert [one.body for one in reviews.items] == ["Nearly.", "", "", ""]
    assert (reviews.last, reviews.items[0].place) == (1, None)
    since = made.clock.now()
    assert len(await client.review_comments_since(pull.number, since)) == 3
    made.clock.advance(60)
    made.world.edit_review_comment(first.id, "ana", "Why not?")
    assert [one.body for one in await client.review_comments_since(pull.number, made.clock.now())] == ["Why not?"]
    assert await client.review_comments_since(pull.number, made.clock.now() + timedelta(seconds=1)) == ()


async def test_reactions(tmp_path: Path) -> None:
    """On a review comment through REST, on a review through GraphQL; twice is once."""
    made = scene(tmp_path)
    pull, client = reviewed(made), client_of(made)
    review, comment = pull.reviews[0], pull.review_threads[0].comments[0]
    for _ in range(2):
        made_id = await client.react("eyes", number=pull.number, comment_id=comment.id, kind=REMARK)
        await client.react_to_review("+1", pull.number, review.id)
    assert [one.content for one in comment.reactions] == ["eyes"]
    assert [one.content for one in review.reactions] == ["+1"]
    assert made_id == comment.reactions[0].id
    await client.unreact(made_id, number=pull.number, comment_id=comment.id, kind=REMARK)
    await client.unreact_to_review("+1", pull.number, review.id)
    assert (comment.reactions, review.reactions) == ([], [])
    with pytest.raises(NotFound):
        await client.unreact(made_id, number=pull.number, comment_id=comment.id, kind=REMARK)
    assert made.world.requests[-1].permissions["pull_requests"] == "write"
    with pytest.raises(NotFound):
        await client.react_to_review("eyes", pull.number, 1)
    made.world.grant(made.installation, {"issues": "write", "pull_requests": "read"})
    with pytest.raises(Forbidden, match="not accessible"):
        await client.react_to_review("eyes", pull.number, review.id)
    with pytest.raises(KeyError):
        await client.react_to_review("wow", pull.number, review.id)
    with pytest.raises(ValueError, match="no kind of comment"):
        await client.delete_comment(review.id, kind="review")


async def test_writes_are_sent_once() -> None:
    """Whether a lost answer was a done deed, nobody knows: it is not tried again."""
    server = FakeGitHub()
    reply, one = f"{REPO}/pulls/3/comments/1/replies", f"{REPO}/pulls/comments/1"
    for method, path in (("POST", reply), ("PATCH", one), ("POST", "/graphql")):
        server.on(method, path, answer({}, 502))
    server.on("GET", f"{REPO}/pulls/3/reviews/6", answer(comment_json(6, node_id="PRR_6")))
    client = make_client(server)
    for call in (
        client.reply_to_review_comment(3, 1, "x"),
        client.edit_comment(1, "x", kind=REMARK),
        client.react_to_review("eyes", 3, 6),
    ):
        with pytest.raises(Unsure):
            await call
    assert [request.method for request in server.sent()] == ["POST", "PATCH", "GET", "POST"]
    assert b"PRR_6" in server.sent("POST", "/graphql")[0].content
    server.on("POST", "/graphql", answer([1]))
    with pytest.raises(Unsure):
        await client.react_to_review("eyes", 3, 6)
    server.on("POST", reply, answer({"no": "comment"}, 201))
    with pytest.raises(Unsure):
        await client.reply_to_review_comment(3, 1, "x")
    assert server.minted[0]["permissions"] == {"issues": "write", "pull_requests": "write"}


async def test_servers_that_do_not_filter() -> None:
    """What is older than asked for is left out; no list is not taken for an empty one."""
    server = FakeGitHub()
    rows = [comment_json(1, updated_at="2026-03-01T10:00:00Z"), comment_json(2, updated_at="2026-03-02T10:00:00Z")]
    server.on("GET", f"{REPO}/pulls/3/comments", answer(rows))
    client = make_client(server)
    found = await client.review_comments_since(3, server.clock.now() - timedelta(hours=3))
    assert [one.id for one in found] == [2]
    assert server.sent()[0].url.params["since"] == "2026-03-02T09:00:00Z"
    server.on("GET", f"{REPO}/pulls/3/comments", answer({"message": "?"}))
    with pytest.raises(Transient):
        await client.review_comments_page(3, 1)


def test_places_are_read_leniently() -> None:
    """A comment on a whole file has no line; a payload without a path has no place; a review has a state."""
    data = comment_json(5, path="a.py", diff_hunk="@@ -1 +1 @@", subject_type="file", in_reply_to_id=4)
    place = parsed(data, "review_comment").place
    assert place is not None
    assert (place.line, place.side, place.root_id, place.review_id) == (None, "RIGHT", 4, None)
    assert parsed(comment_json(5), "review_comment").place is None
    assert parsed(data).place is None
    review = parsed(comment_json(6, state="approved", node_id="PRR_6"), "review")
    assert (review.review_state, review.node_id) == ("APPROVED", "PRR_6")


async def test_whatever_has_the_number(tmp_path: Path) -> None:
    """A comment of the conversation first; on a pull request else a review comment, else a review; else nothing."""
    made = scene(tmp_path)
    pull, client = reviewed(made), client_of(made)
    first, review = pull.review_threads[0].comments[0], pull.reviews[0]
    said = made.world.comment(made.repo, pull.number, "meg", "In the conversation.")
    assert (await client.said(pull.number, said.id, pull_request=True)).kind == "comment"
    assert (await client.said(pull.number, first.id, pull_request=True)).kind == "review_comment"
    found = await client.review(pull.number, review.id)
    assert (found.kind, found.body, found.review_state) == ("review", "Nearly.", "CHANGES_REQUESTED")
    assert found.url.endswith(f"#pullrequestreview-{review.id}")
    with pytest.raises(NotFound):
        await client.said(pull.number, first.id, pull_request=False)
    with pytest.raises(NotFound):
        await client.said(pull.number, 987654, pull_request=True)


async def test_the_last_sort_that_is_looked_at() -> None:
    """A number that only a review has."""
    server = FakeGitHub()
    row = comment_json(7) | {"submitted_at": "2025-11-03T10:00:00Z", "state": "APPROVED"}
    server.on("GET", f"{REPO}/pulls/3/reviews/7", answer(row))
    found = await make_client(server).said(3, 7, pull_request=True)
    assert (found.kind, found.id, found.review_state) == ("review", 7, "APPROVED")
