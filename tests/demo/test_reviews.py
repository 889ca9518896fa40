"""Reviews and checks of the look-alike, logs, attachments, and what GraphQL tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.demo.refusal import Refused
from bot.demo.reviews import Remark
from bot.demo.server import lookalike
from tests.contract.openapi import complaints, component
from tests.contract.pull_routes import with_pull
from tests.demo.scene import Scene, scene
from tests.demo.test_pulls import listening, told


def test_reviews(tmp_path: Path) -> None:
    """Each remark begins a thread, replies go on with it; the events have GitHub's objects."""
    made = scene(tmp_path)
    listening(made)
    world, pull = made.world, with_pull(made)
    remarks = [Remark("src/size.py", "Why 0?", 2, start_line=1), Remark("src/size.py", "Gone", 2, "LEFT")]
    world.review(made.repo, pull.number, "ana", "Nearly.", state="CHANGES_REQUESTED", remarks=remarks)
    first = pull.review_threads[0]
    reply = world.reply(first.comments[0].id, "meg", "Because.")
    assert [comment.body for comment in first.comments] == ["Why 0?", "Because."]
    assert first.comments[0].hunk.endswith("+    return int(text or 0)")
    assert world.review_comment(reply.id) is reply
    world.resolve(first, "meg")
    assert first.resolved
    reviews = [(action, told["review"]["state"], told["review"]["body"])
               for action, told in told(made, "pull_request_review")]  # fmt: skip
    # a reply is a review too, without a text
    assert reviews == [("submitted", "changes_requested", "Nearly."), ("submitted", "commented", None)]
    comments = told(made, "pull_request_review_comment")
    assert [action for action, _ in comments] == ["created"] * 3
    assert comments[2][1]["comment"]["in_reply_to_id"] == first.comments[0].id
    for _, payload in comments:
        assert complaints(component("pull-request-review-comment"), payload["comment"]) == []
    assert [action for action, _ in told(made, "pull_request_review_thread")] == ["resolved"]


@pytest.mark.parametrize(
    ("remark", "words"),
    [
        (Remark("none.py", "x", 1), "Path could not be resolved"),
        (Remark("src/size.py", "x", 9), "Line could not be resolved"),
        (Remark("src/size.py", "x", 2, start_line=9), "Start line must be part of the same hunk as the line."),
    ],
)
def test_places_outside_the_diff(remark: Remark, words: str, tmp_path: Path) -> None:
    """422, and nothing of the review is kept."""
    made = scene(tmp_path)
    pull = with_pull(made)
    with pytest.raises(Refused) as caught:
        made.world.review(made.repo, pull.number, "ana", "Text", remarks=[Remark("src/size.py", "good", 2), remark])
    assert (caught.value.status_code, caught.value.errors) == (422, [words])
    assert (pull.reviews, pull.review_threads) == ([], [])


def test_reviews_that_cannot_be(tmp_path: Path) -> None:
    """Of one's own work, and without words."""
    made = scene(tmp_path)
    pull = with_pull(made)
    for author, body, state in (
        ("meg", "Yes", "APPROVED"),
        ("ana", " ", "COMMENTED"),
        ("ana", "", "CHANGES_REQUESTED"),
    ):
        with pytest.raises(Refused):
            made.world.review(made.repo, pull.number, author, body, state=state)  # type: ignore[arg-type]  # a row above
    made.world.review(made.repo, pull.number, "ana", state="APPROVED")
    with pytest.raises(Refused):
        made.world.reply(1, "meg", "x")


def test_checks(tmp_path: Path) -> None:
    """Of each name and App the newest; an event when one has come to its end."""
    made = scene(tmp_path)
    listening(made)
    made.installation.permissions["checks"] = "read"
    world, pull = made.world, with_pull(made)
    old = world.add_check(made.repo, pull.head, "tests", None)
    assert [action for action, _ in told(made, "check_run")] == ["created"]
    world.finish(old, "failure", "not ok\n")
    new = world.add_check(made.repo, pull.head, "tests", "success", log="ok\n")
    other = world.add_check(made.repo, pull.head, "tests", "neutral", app=made.app)
    assert world.checks(made.repo, pull.head_sha) == [other, new]
    assert world.checks(made.repo, pull.head_sha, newest=False) == [other, new, old]
    runs = [payload["check_run"] for action, payload in told(made, "check_run") if action == "completed"]
    assert [run["conclusion"] for run in runs] == ["failure", "success", "neutral"]
    assert runs[0]["pull_requests"][0]["number"] == pull.number
    assert [complaints(component("check-run"), run) for run in runs] == [[], [], []]
    assert (new.run_id is not None, other.run_id) == (True, None)
    with pytest.raises(Refused):
        world.add_check(made.repo, "none", "tests")
    with pytest.raises(Refused):
        world.job(made.repo, other.id)


async def test_logs_and_attachments(tmp_path: Path) -> None:
    """An address of a log works for a minute; credentials beside it are refused, as GitHub's storage does."""
    made = scene(tmp_path)
    pull = with_pull(made)
    check = made.world.add_check(made.repo, pull.head, "tests", "failure", log="not ok\n")
    image = made.world.store.attach("a.png", b"png", "image/png")
    table = made.world.store.attach("a.csv", b"csv", "text/csv")
    async with made.as_installation() as bot:
        place = (await bot.get(made.path(f"/actions/jobs/{check.id}/logs"))).headers["location"]
        assert (await bot.get(place)).status_code == 400
    async with httpx.AsyncClient(transport=httpx.ASGITransport(lookalike(made.world))) as nobody:
        assert (await nobody.get(place)).text == "not ok\n"
        assert (await nobody.get(image)).headers["content-type"] == "image/png"
        assert ((await nobody.get(table)).text, table.endswith("/a.csv")) == ("csv", True)
        made.clock.advance(61)
        assert (await nobody.get(place)).status_code == 404
        assert (await nobody.get(image)).status_code == 200


async def asked(made: Scene, query: str, token: str = "", **variables: Any) -> dict[str, Any]:
    value = token or made.world.mint(made.installation).value
    async with made.client(value) as bot:
        answer = await bot.post(made.world.site_url + "/api/graphql", json={"query": query, "variables": variables})
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def test_graphql(tmp_path: Path) -> None:
    """What is asked for and no more: arguments, variables, fragments, pages."""
    made = scene(tmp_path)
    pull = with_pull(made)
    made.world.review(made.repo, pull.number, "ana", remarks=[Remark("docs/size.md", word) for word in "abc"])
    query = """query($n: Int!, $after: String) { repository(owner: "ana", name: "parser") { pullRequest(number: $n) {
      author { __typename login ... on User { databaseId } ... on Bot { id } }
      reviewThreads(first: 2, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes { path } } } } }"""
    first = (await asked(made, query, n=pull.number))["data"]["repository"]["pullRequest"]
    assert first["author"] == {"__typename": "User", "login": "meg", "databaseId": made.world.user("meg").id}
    threads = first["reviewThreads"]
    assert (threads["totalCount"], len(threads["nodes"]), threads["pageInfo"]["hasNextPage"]) == (3, 2, True)
    last = await asked(made, query, n=pull.number, after=threads["pageInfo"]["endCursor"])
    rest = last["data"]["repository"]["pullRequest"]["reviewThreads"]
    assert (rest["nodes"], rest["pageInfo"]["hasNextPage"]) == ([{"path": "docs/size.md"}], False)


@pytest.mark.parametrize(
    ("of", "kind", "words"),
    [
        ("issue(number: 2) { title }", "NOT_FOUND", "an Issue"),
        ("pullRequest(number: 1) { title }", "NOT_FOUND", "a PullRequest"),
        ("stars", None, "Field 'stars' doesn't exist on type"),
        ("issue(number: 1)", None, "must have selections"),
        ("; ", None, "Unexpected character"),
        ("pullRequest(number: 2) { reviewThreads { totalCount } }", "MISSING_PAGINATION", "`first`"),
        (
            'pullRequest(number: 2) { reviewThreads(first: 1, after: "x") { totalCount } }',
            "INVALID_CURSOR_ARGUMENTS",
            "x",
        ),
    ],
)
async def test_graphql_refusals(of: str, kind: str | None, words: str, tmp_path: Path) -> None:
    """They come with 200, as GitHub's do."""
    made = scene(tmp_path)
    with_pull(made)
    found = await asked(made, f'{{ repository(owner: "ana", name: "parser") {{ {of} }} }}')
    (error,) = found["errors"]
    assert (found["data"], error.get("type")) == (None, kind)
    assert words in error["message"]
    gone = await asked(made, '{ repository(owner: "ana", name: "none") { nameWithOwner } }')
    assert gone["errors"][0]["type"] == "NOT_FOUND"
    assert "Unexpected end" in (await asked(made, "{ repository"))["errors"][0]["message"]


async def test_graphql_takes_permissions(tmp_path: Path) -> None:
    """A token without the permission is told so; nobody gets nothing."""
    made = scene(tmp_path)
    pull = with_pull(made)
    query = '{ repository(owner: "ana", name: "parser") { pullRequest(number: 2) { title } } }'
    token = made.world.mint(made.installation, [made.repo.id], {"issues": "read"}).value
    assert (await asked(made, query, token))["errors"][0]["type"] == "FORBIDDEN"
    made.repo.private = True
    other = made.world.user_token("sam")
    assert (await asked(made, query, other))["errors"][0]["type"] == "NOT_FOUND"
    assert pull.number == 2
    async with made.client() as nobody:
        assert (await nobody.post(made.world.site_url + "/graphql", json={"query": query})).status_code == 401
