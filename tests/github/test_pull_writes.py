"""Pull requests opened, changed and reviewed: what is asked, and what the answers mean."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from bot.errors import Forbidden, NotFound, Transient, Unsure
from bot.github import RepositoryClient
from bot.model.remark import Remark
from tests.github.fake import COMMIT, FakeGitHub, answer, comment_json, make_client

PULLS = "/repos/ana/parser/pulls"
USER = {"id": 99, "login": "parser-bot[bot]", "type": "Bot"}
REVIEW = {
    "id": 5, "user": USER, "body": "One.", "state": "COMMENTED", "commit_id": COMMIT,
    "html_url": "https://github.test/ana/parser/pull/4#pullrequestreview-5", "submitted_at": "2026-03-02T12:00:00Z",
}  # fmt: skip
Call = Callable[[RepositoryClient], Awaitable[Any]]
WRITES: list[tuple[str, str, Call]] = [
    ("POST", PULLS, lambda client: client.open_pull_request(head="bot/1", base="main", title="t", body="b")),
    ("PATCH", f"{PULLS}/4", lambda client: client.change_pull_request(4, title="t", body="b")),
    (
        "POST",
        f"{PULLS}/4/reviews",
        lambda client: client.create_review(4, head_sha=COMMIT, body="b", event="COMMENT", remarks=()),
    ),
]


def pull(**fields: Any) -> dict[str, Any]:
    end = {"sha": COMMIT, "repo": {"id": 7}}
    return {
        "number": 4, "title": "t", "body": None, "user": USER, "state": "open", "draft": True,
        "html_url": "https://github.test/ana/parser/pull/4", "head": {"ref": "bot/1", **end},
        "base": {"ref": "main", **end}, **fields,
    }  # fmt: skip


def body(server: FakeGitHub) -> Any:
    return json.loads(server.sent()[-1].content)


async def test_opening() -> None:
    """With a token for issues and pull requests."""
    server = FakeGitHub()
    server.on("POST", PULLS, answer(pull(), 201))
    made = await make_client(server).open_pull_request(head="bot/1", base="main", title="t", body="b", draft=True)
    assert (made.number, made.url, made.head, made.head_sha, made.draft) == (
        4, "https://github.test/ana/parser/pull/4", "bot/1", COMMIT, True,
    )  # fmt: skip
    assert body(server) == {"title": "t", "head": "bot/1", "base": "main", "body": "b", "draft": True}
    assert server.minted[-1]["permissions"] == {"issues": "write", "pull_requests": "write"}


async def test_changing() -> None:
    """Title and body, nothing else."""
    server = FakeGitHub()
    server.on("PATCH", f"{PULLS}/4", answer(pull(title="new")))
    assert (await make_client(server).change_pull_request(4, title="new", body="b")).title == "new"
    assert body(server) == {"title": "new", "body": "b"}


async def test_reviewing() -> None:
    """Each comment with its place; a range has two lines and their side."""
    server = FakeGitHub()
    server.on("POST", f"{PULLS}/4/reviews", answer(REVIEW))
    remarks = [Remark("a.py", 3, "x"), Remark("a.py", 9, "y", "LEFT", 7)]
    made = await make_client(server).create_review(4, head_sha=COMMIT, body="One.", event="APPROVE", remarks=remarks)
    assert (made.id, made.kind, made.url) == (5, "review", REVIEW["html_url"])
    assert body(server) == {
        "commit_id": COMMIT,
        "body": "One.",
        "event": "APPROVE",
        "comments": [
            {"path": "a.py", "line": 3, "side": "RIGHT", "body": "x"},
            {"path": "a.py", "line": 9, "side": "LEFT", "body": "y", "start_line": 7, "start_side": "LEFT"},
        ],
    }


async def test_the_comments_of_a_review() -> None:
    """From all pages."""
    server = FakeGitHub()
    path = f"{PULLS}/4/reviews/5/comments"
    link = f'<https://api.github.test{path}?page=2>; rel="next"'
    server.on("GET", path, answer([comment_json(1)], link=link), answer([comment_json(2)]))
    found = await make_client(server).comments_of_review(4, 5)
    assert [(one.id, one.kind) for one in found] == [(1, "review_comment"), (2, "review_comment")]
    assert [request.url.params["page"] for request in server.sent("GET", path)] == ["1", "2"]


@pytest.mark.parametrize(("last", "pages"), [(None, [1]), (2, [1, 2]), (5, [1, 4, 5])])
async def test_the_newest_reviews(last: int | None, pages: list[int]) -> None:
    """GitHub lists the oldest first; one that is still being written is left out."""
    server = FakeGitHub()
    path = f"{PULLS}/4/reviews"
    link = {"link": f'<https://api.github.test{path}?page={last}>; rel="last"'} if last else {}

    def page(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params["page"])
        draft = {**REVIEW, "id": number * 10 + 1, "state": "PENDING", "submitted_at": None}
        return answer([{**REVIEW, "id": number * 10}, draft], 200, **link)

    server.on("GET", path, page)
    found = await make_client(server).newest_reviews(4)
    assert [one.id for one in found] == [number * 10 for number in pages[-2:]]
    assert [int(request.url.params["page"]) for request in server.sent("GET", path)] == pages


async def test_comments_that_are_no_list() -> None:
    server = FakeGitHub()
    server.on("GET", f"{PULLS}/4/reviews/5/comments", answer({"message": "x"}))
    with pytest.raises(Transient):
        await make_client(server).comments_of_review(4, 5)


@pytest.mark.parametrize(("method", "path", "call"), WRITES)
@pytest.mark.parametrize(
    ("scripted", "error"),
    [
        (httpx.ReadTimeout("t"), Unsure),
        (answer({"message": "x"}, 502), Unsure),
        (answer({"number": 4}, 201), Unsure),
        (httpx.ConnectError("c"), Transient),
        (answer({"message": "no"}, 403), Forbidden),
        (answer({"message": "gone"}, 404), NotFound),
        (answer({"message": "Validation Failed", "errors": [{"message": "already exists"}]}, 422), Forbidden),
    ],
)
async def test_every_write_is_sent_once(
    method: str, path: str, call: Call, scripted: Any, error: type[Exception]
) -> None:
    """Whatever becomes of it; an answer that cannot be read is none."""
    server = FakeGitHub()
    server.on(method, path, scripted)
    with pytest.raises(error) as caught:
        await call(make_client(server))
    assert isinstance(caught.value, Unsure) is (error is Unsure)
    assert len(server.sent(method)) == 1
