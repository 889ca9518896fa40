"""One repository, read and written."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from bot.errors import Forbidden, NotFound, OperatorError, Transient
from bot.model.role import Role
from bot.model.thread import Account, Repository
from tests.github.fake import (
    BASE,
    COMMIT,
    REPOSITORY,
    FakeGitHub,
    answer,
    comment_json,
    issue_json,
    make_client,
    make_github,
)

REPO = "/repos/ana/parser"
COMMENTS = f"{REPO}/issues/1/comments"


async def test_issue() -> None:
    """The head of a thread."""
    server = FakeGitHub()
    server.on("GET", f"{REPO}/issues/9", answer(issue_json(9)))
    issue = await make_client(server).issue(9)
    assert (issue.number, issue.title) == (9, "It crashes")


async def test_comment_page() -> None:
    """The page that was asked for, and the number of the last one."""
    server = FakeGitHub()
    link = f'<{BASE}/repositories/7/issues/1/comments?page=3>; rel="next", <{BASE}/x?per_page=100&page=21>; rel="last"'
    server.on("GET", COMMENTS, answer([comment_json(1), comment_json(2)], link=link))
    page = await make_client(server).comments(1, page=2, per_page=50)
    assert [comment.id for comment in page.items] == [1, 2]
    assert page.last == 21
    assert dict(server.sent()[0].url.params) == {"page": "2", "per_page": "50"}


@pytest.mark.parametrize(
    "link", ["", '<https://x/y?page=1>; rel="first"', '<https://[>; rel="last"', '<https://x>; rel="last"']
)
async def test_last_comment_page(link: str) -> None:
    """The last page has no link to the last page; one that cannot be read is none."""
    server = FakeGitHub()
    server.on("GET", COMMENTS, answer([], link=link) if link else answer([]))
    assert (await make_client(server).comments(1, page=4)).last == 4


async def test_comments_that_are_no_list() -> None:
    """Not an empty thread."""
    server = FakeGitHub()
    server.on("GET", COMMENTS, answer({"items": []}))
    with pytest.raises(Transient):
        await make_client(server).comments(1, page=1)


async def test_comments_since() -> None:
    """Whole seconds, every page, and no more than were asked for."""
    server = FakeGitHub()
    old = comment_json(1, updated_at="2026-03-01T11:59:58Z")
    same_second = comment_json(2, updated_at="2026-03-01T11:59:59Z")
    new = comment_json(3, updated_at="2026-03-01T12:00:00Z")
    following = answer([old, same_second], link=f'<{BASE}{COMMENTS}?page=2>; rel="next"')
    server.on("GET", COMMENTS, following, answer([new]))
    since = datetime(2026, 3, 1, 11, 59, 59, 700_000, tzinfo=UTC)
    found = await make_client(server).comments_since(1, since)
    assert [comment.id for comment in found] == [2, 3]
    assert [request.url.params["page"] for request in server.sent()] == ["1", "2"]
    assert server.sent()[0].url.params["since"] == "2026-03-01T11:59:59Z"


async def test_comments_since_ends() -> None:
    """A server that always knows a next page is left after ten."""
    server = FakeGitHub()
    server.on("GET", COMMENTS, answer([comment_json(1)], link=f'<{BASE}{COMMENTS}?page=2>; rel="next"'))
    assert len(await make_client(server).comments_since(1, datetime(2026, 1, 1, tzinfo=UTC))) == 10


async def test_comment() -> None:
    """As it is now, or gone."""
    server = FakeGitHub()
    server.on("GET", f"{REPO}/issues/comments/5", answer(comment_json(5)))
    client = make_client(server)
    assert (await client.comment(5)).body == "comment 5"
    with pytest.raises(NotFound):
        await client.comment(6)


async def test_permission() -> None:
    """The role by name; the login quoted, since a bot's has brackets."""
    server = FakeGitHub()
    server.on(
        "GET", f"{REPO}/collaborators/helper[bot]/permission", answer({"role_name": "maintain", "permission": "write"})
    )
    client = make_client(server)
    assert await client.permission("helper[bot]") is Role.MAINTAIN
    assert b"helper%5Bbot%5D" in server.sent()[0].url.raw_path
    assert await client.permission("stranger") is Role.NONE


async def test_permission_fails_closed() -> None:
    """An outage is no answer, and no role; nor is it one that our key or clock is at fault."""
    server = FakeGitHub()
    for fault in (answer({}, 500), answer({"message": "Bad credentials"}, 401)):
        server.on("GET", f"{REPO}/collaborators/meg/permission", fault)
        with pytest.raises(Transient):
            await make_client(server).permission("meg")
    server.on("GET", f"{REPO}/collaborators/meg/permission", answer({"message": "no"}, 403))
    with pytest.raises(Forbidden):
        await make_client(server).permission("meg")


async def test_head() -> None:
    """The bare SHA, then a 304 for every time that nothing changed."""
    server = FakeGitHub()
    new = "d" * 40
    path = f"{REPO}/commits/main"
    server.on(
        "GET", path,
        httpx.Response(200, text=COMMIT, headers={"ETag": '"one"'}), httpx.Response(304),
        httpx.Response(200, text=new, headers={"ETag": '"two"'}), httpx.Response(304),
    )  # fmt: skip
    client = make_client(server)
    assert [await client.head("main") for _ in range(4)] == [COMMIT, COMMIT, new, new]
    assert [request.headers.get("if-none-match") for request in server.sent()] == [None, '"one"', '"one"', '"two"']
    assert {request.headers["accept"] for request in server.sent()} == {"application/vnd.github.sha"}


async def test_head_is_kept_by_repository_and_ref() -> None:
    """Another ref, and the same ref elsewhere, are asked without the other's ETag."""
    server = FakeGitHub()
    other = Repository(8, Account(1, "ana", "Organization"), "other")
    for path in (f"{REPO}/commits/main", f"{REPO}/commits/heads/a/b", "/repos/ana/other/commits/main"):
        server.on("GET", path, httpx.Response(200, text=COMMIT, headers={"ETag": '"one"'}))
    github = make_github(server)
    await github.repository(5, REPOSITORY).head("main")
    await github.repository(5, REPOSITORY).head("heads/a/b")
    await github.repository(5, other).head("main")
    assert all("if-none-match" not in request.headers for request in server.sent())


async def test_head_from_a_whole_commit() -> None:
    """A server that does not know the media type sends JSON."""
    server = FakeGitHub()
    server.on("GET", f"{REPO}/commits/main", answer({"sha": COMMIT, "files": []}))
    assert await make_client(server).head("main") == COMMIT


@pytest.mark.parametrize("response", [httpx.Response(200, text="main"), answer({"sha": "main"}), httpx.Response(304)])
async def test_head_unreadable(response: httpx.Response) -> None:
    """What is no commit is never taken for one; nor a 304 to a question that had no condition."""
    server = FakeGitHub()
    server.on("GET", f"{REPO}/commits/main", response)
    with pytest.raises(Transient):
        await make_client(server).head("main")


@pytest.mark.parametrize("status", [404, 409, 422])
async def test_head_of_nothing(status: int) -> None:
    """No such ref, or an empty repository."""
    server = FakeGitHub()
    server.on("GET", f"{REPO}/commits/main", answer({"message": "Git Repository is empty."}, status))
    with pytest.raises(NotFound):
        await make_client(server).head("main")


async def test_head_forbidden() -> None:
    """Not the same as missing."""
    server = FakeGitHub()
    server.on("GET", f"{REPO}/commits/main", answer({"message": "no"}, 403))
    with pytest.raises(Forbidden):
        await make_client(server).head("main")


async def test_writing() -> None:
    """Method, path and body of each write."""
    server = FakeGitHub()
    one = f"{REPO}/issues/comments/5"
    server.on("POST", COMMENTS, answer(comment_json(5), 201))
    server.on("PATCH", one, answer(comment_json(5, body="new")))
    server.on("DELETE", one, httpx.Response(204))
    server.on("POST", f"{one}/reactions", answer({"id": 1}, 201))
    server.on("POST", f"{REPO}/issues/1/reactions", answer({"id": 2}, 200))
    server.on("DELETE", f"{one}/reactions/1", httpx.Response(204))
    server.on("DELETE", f"{REPO}/issues/1/reactions/2", httpx.Response(204))
    client = make_client(server)
    assert (await client.create_comment(1, "hello")).id == 5
    assert (await client.edit_comment(5, "new")).body == "new"
    assert await client.react("eyes", number=1, comment_id=5) == 1
    assert await client.react("rocket", number=1, comment_id=None) == 2
    await client.unreact(1, number=1, comment_id=5)
    await client.unreact(2, number=1, comment_id=None)
    await client.delete_comment(5)
    assert [(r.method, r.url.path, json.loads(r.content or "null")) for r in server.sent()] == [
        ("POST", COMMENTS, {"body": "hello"}),
        ("PATCH", one, {"body": "new"}),
        ("POST", f"{one}/reactions", {"content": "eyes"}),
        ("POST", f"{REPO}/issues/1/reactions", {"content": "rocket"}),
        ("DELETE", f"{one}/reactions/1", None),
        ("DELETE", f"{REPO}/issues/1/reactions/2", None),
        ("DELETE", one, None),
    ]


async def test_a_server_without_reactions() -> None:
    """Plainly not there."""
    with pytest.raises(NotFound):
        await make_client(FakeGitHub()).react("eyes", number=1, comment_id=None)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.github.com", "https://github.com/ana/parser.git"),
        ("https://api.acme.ghe.com", "https://acme.ghe.com/ana/parser.git"),
        ("https://ghes.test/api/v3", "https://ghes.test/ana/parser.git"),
        ("http://127.0.0.1:8123", "http://127.0.0.1:8123/ana/parser.git"),
    ],
)
async def test_clone_address(base: str, url: str) -> None:
    """GitHub's own host, for every kind of GitHub."""
    assert (await clone(base, url)) == (url, "ghs_2")


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.github.com", "https://github.com.evil.test/ana/parser.git"),
        ("https://api.github.com", "https://evil.test/github.com/parser.git"),
        ("https://api.github.com", "http://github.com/ana/parser.git"),
        ("https://api.github.com", "https://github.com:444/ana/parser.git"),
        ("https://api.github.com", "https://github.com@evil.test/ana/parser.git"),
        ("https://api.github.com", "https://user:pass@github.com/ana/parser.git"),
        ("https://api.github.com", "ssh://github.com/ana/parser.git"),
        ("https://api.github.com", "file:///etc/passwd"),
        ("https://api.github.com", "ext::sh -c touch% /tmp/x"),
        ("https://api.github.com", "https://["),
        ("https://api.github.com", ""),
        ("http://127.0.0.1:8123", "http://127.0.0.1:8124/ana/parser.git"),
    ],
)
async def test_clone_address_elsewhere(base: str, url: str) -> None:
    """No token is even minted for it."""
    with pytest.raises(OperatorError, match="does not belong"):
        await clone(base, url)


async def clone(base: str, url: str) -> tuple[str, str]:
    server = FakeGitHub()
    server.on("GET", REPO, answer({"clone_url": url}))

    async def without_prefix(request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(path=request.url.path.removeprefix("/api/v3"))
        return await server.handle(request)

    client = make_client(server, base_url=base, transport=httpx.MockTransport(without_prefix))
    try:
        access = await client.clone_access()
    except OperatorError:
        assert len(server.minted) == 1
        raise
    return access.url, access.token


async def test_clone_address_missing() -> None:
    """Nothing to clone from."""
    server = FakeGitHub()
    server.on("GET", REPO, answer({}))
    with pytest.raises(Transient):
        await make_client(server).clone_access()


async def test_names_are_quoted() -> None:
    """A name from a payload cannot change the path."""
    server = FakeGitHub()
    odd = replace(REPOSITORY, name="a/../b?c")
    with pytest.raises(NotFound):
        await make_github(server).repository(5, odd).issue(1)
    assert server.sent()[0].url.raw_path == b"/repos/ana/a%2F..%2Fb%3Fc/issues/1"


async def test_one_client_follows_a_rename() -> None:
    """The same object by numeric id, asking under the present name."""
    server = FakeGitHub()
    server.on("GET", "/repos/meg/lexer/issues/1", answer(issue_json()))
    github = make_github(server)
    client = github.repository(5, REPOSITORY)
    moved: Any = replace(REPOSITORY, owner=Account(2, "meg"), name="lexer")
    assert github.repository(5, moved) is client
    assert github.repository(6, moved) is not client
    assert (await client.issue(1)).number == 1
    assert client.repository.full_name == "meg/lexer"
