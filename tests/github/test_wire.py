"""One request and its answer: what is repeated, what never is, where a redirect may lead."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import httpx
import pytest

from bot.errors import BotError, Forbidden, NotFound, Transient, Unsure
from bot.github import GitHub, RepositoryClient
from bot.model.clock import SystemClock
from tests.github.fake import (
    BASE,
    REPOSITORY,
    FakeClock,
    FakeGitHub,
    answer,
    comment_json,
    issue_json,
    make_client,
    make_github,
    pem,
)

ISSUE = "/repos/ana/parser/issues/1"
COMMENTS = f"{ISSUE}/comments"
COMMENT = "/repos/ana/parser/issues/comments/9"

Write = Callable[[RepositoryClient], Awaitable[object]]
WRITES: list[tuple[str, str, Write]] = [
    ("POST", COMMENTS, lambda client: client.create_comment(1, "hello")),
    ("PATCH", COMMENT, lambda client: client.edit_comment(9, "hello")),
    ("DELETE", COMMENT, lambda client: client.delete_comment(9)),
    ("POST", f"{COMMENT}/reactions", lambda client: client.react("eyes", number=1, comment_id=9)),
]


async def test_headers() -> None:
    """Who we are, which version of the API, and the token."""
    server = FakeGitHub()
    server.on("GET", ISSUE, answer(issue_json()))
    await make_client(server).issue(1)
    headers = server.sent()[0].headers
    assert headers["user-agent"] == f"threadsmith/{version('threadsmith')}"
    assert headers["x-github-api-version"] == "2022-11-28"
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["authorization"] == "token ghs_1"


async def test_base_with_a_path() -> None:
    """GHES has its API below a path."""
    server = FakeGitHub()

    async def with_path(request: httpx.Request) -> httpx.Response:
        assert request.url.path.startswith("/api/v3/")
        request.url = request.url.copy_with(path=request.url.path.removeprefix("/api/v3"))
        return await server.handle(request)

    server.on("GET", ISSUE, answer(issue_json()))
    github = GitHub(
        base_url="https://ghes.test/api/v3/", app_id="42", private_key=pem(), clock=server.clock,
        transport=httpx.MockTransport(with_path),
    )  # fmt: skip
    assert (await github.repository(5, REPOSITORY).issue(1)).number == 1


@pytest.mark.parametrize(
    "fault", [answer({}, 502), httpx.ReadTimeout("x"), httpx.ConnectError("x"), httpx.ReadError("x")]
)
async def test_reads_are_repeated(fault: httpx.Response | Exception) -> None:
    """Three times at most, with growing pauses on the injected clock."""
    server = FakeGitHub()
    server.on("GET", ISSUE, fault, fault, fault, answer(issue_json()))
    client = make_client(server)
    assert (await client.issue(1)).number == 1
    assert server.clock.slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("fault", [answer({}, 502), httpx.ReadTimeout("x")])
async def test_reads_are_given_up(fault: httpx.Response | Exception) -> None:
    """After the fourth failure."""
    server = FakeGitHub()
    server.on("GET", ISSUE, fault)
    with pytest.raises(Transient) as caught:
        await make_client(server).issue(1)
    assert type(caught.value) is Transient
    assert len(server.sent()) == 4


@pytest.mark.parametrize(("method", "path", "write"), WRITES)
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (answer({}, 500), Unsure),
        (answer({}, 502), Unsure),
        (httpx.ReadTimeout("x"), Unsure),
        (httpx.WriteError("x"), Unsure),
        (httpx.RemoteProtocolError("x"), Unsure),
        (httpx.ConnectError("x"), Transient),
        (httpx.ConnectTimeout("x"), Transient),
    ],
)
async def test_writes_are_never_repeated(
    method: str, path: str, write: Write, fault: httpx.Response | Exception, expected: type[BotError]
) -> None:
    """One request, whatever happens to it, and no pause."""
    server = FakeGitHub()
    server.on(method, path, fault)
    with pytest.raises(expected) as caught:
        await write(make_client(server))
    assert type(caught.value) is expected
    assert len(server.sent()) == 1
    assert server.clock.slept == []


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (answer({"message": "slow down"}, 429, retry_after="3600"), 3600),
        (answer({"message": "You have exceeded a secondary rate limit"}, 403), 60),
        (answer({}, 429, retry_after="Mon, 02 Mar 2026 12:10:00 GMT"), 600),
        (answer({}, 429, retry_after="Mon, 02 Mar 2026 11:00:00 GMT"), 0),
        (answer({}, 429, retry_after="1"), 1),
    ],
)
@pytest.mark.parametrize("read", [True, False])
async def test_nobody_sleeps_on_a_limit(response: httpx.Response, expected: float, read: bool) -> None:
    """It is told instead; a date in `Retry-After`, which githubkit cannot read, among the forms."""
    server = FakeGitHub()
    server.on("GET", ISSUE, response)
    server.on("POST", COMMENTS, response)
    client = make_client(server)
    with pytest.raises(Transient) as caught:
        await (client.issue(1) if read else client.create_comment(1, "x"))
    assert type(caught.value) is Transient
    assert (caught.value.retry_after, caught.value.limited) == (expected, True)
    assert len(server.sent()) == 1
    assert server.clock.slept == []


async def test_nobody_sleeps_on_an_outage_with_a_date() -> None:
    """A 503 that asks for more than our own pauses ends the call."""
    server = FakeGitHub()
    server.on("GET", ISSUE, answer({}, 503, retry_after="30"))
    with pytest.raises(Transient) as caught:
        await make_client(server).issue(1)
    assert (caught.value.retry_after, caught.value.limited) == (30, False)
    assert len(server.sent()) == 1


@pytest.mark.parametrize(
    ("status", "expected"),
    [(404, NotFound), (410, NotFound), (403, Forbidden), (422, Forbidden), (451, Forbidden), (400, Forbidden)],
)
@pytest.mark.parametrize("read", [True, False])
async def test_refusals(status: int, expected: type[BotError], read: bool) -> None:
    """Final, with GitHub's words."""
    server = FakeGitHub()
    server.on("GET", ISSUE, answer({"message": "because"}, status))
    server.on("POST", COMMENTS, answer({"message": "because"}, status))
    client = make_client(server)
    with pytest.raises(expected, match="because"):
        await (client.issue(1) if read else client.create_comment(1, "x"))
    assert len(server.sent()) == 1


async def test_an_answer_that_is_no_json() -> None:
    """A proxy's page: a read may be tried later, a write may have been done."""
    server = FakeGitHub()
    server.on("GET", ISSUE, httpx.Response(200, html="<h1>hello</h1>"))
    server.on("POST", COMMENTS, httpx.Response(201, html="<h1>hello</h1>"))
    client = make_client(server)
    with pytest.raises(Transient) as caught:
        await client.issue(1)
    assert type(caught.value) is Transient
    with pytest.raises(Unsure):
        await client.create_comment(1, "x")


async def test_no_call_hangs() -> None:
    """A server that never answers is left after three times the timeout."""

    async def never(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    github = GitHub(
        base_url=BASE, app_id="42", private_key=pem(), clock=FakeClock(), timeout=0.01,
        transport=httpx.MockTransport(never),
    )  # fmt: skip
    with pytest.raises(Transient, match="TimeoutError"):
        await github.app()


def renamed(location: str, status: int = 301) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(status, headers={"Location": location}, json={"message": "Moved Permanently"})


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_renamed_repository_is_followed(status: int) -> None:
    """With the same method and body: a POST must not become a GET."""
    server = FakeGitHub()
    moved = "/repositories/7/issues/1/comments"
    server.on("POST", COMMENTS, renamed(f"{BASE}{moved}", status))
    server.on("POST", moved, answer(comment_json(3), 201))
    assert (await make_client(server).create_comment(1, "hello")).id == 3
    first, second = server.sent()
    assert (first.method, second.method) == ("POST", "POST")
    assert json.loads(second.content) == {"body": "hello"}


@pytest.mark.parametrize("query", ["", "?page=2&per_page=100"])
async def test_the_query_survives_a_redirect(query: str) -> None:
    """Whether GitHub repeats it or not."""
    server = FakeGitHub()
    moved = "/repositories/7/issues/1/comments"
    server.on("GET", COMMENTS, renamed(f"{BASE}{moved}{query}"))
    server.on("GET", moved, answer([]))
    await make_client(server).comments(1, page=2)
    assert server.sent()[1].url.query == b"page=2&per_page=100"


@pytest.mark.parametrize(
    "location",
    [
        f"{BASE}/repositories/8/issues/1",  # another repository
        f"{BASE}/repositories/7/issues/2",  # another issue
        f"{BASE}/repos/ana/other/issues/4",  # transferred
        "https://elsewhere.test/repositories/7/issues/1",
        "http://api.github.test/repositories/7/issues/1",
        "https://api.github.test:444/repositories/7/issues/1",
        "https://[",
        "",
    ],
)
async def test_nothing_else_is_followed(location: str) -> None:
    """A transferred issue is another thread; no token goes to another host."""
    server = FakeGitHub()
    server.on("GET", ISSUE, renamed(location))
    with pytest.raises(NotFound, match="moved"):
        await make_client(server).issue(1)
    assert len(server.sent()) == 1


async def test_redirects_end() -> None:
    """A loop is left."""
    server = FakeGitHub()
    server.on("GET", ISSUE, renamed(f"{BASE}{ISSUE}"))
    with pytest.raises(NotFound, match="without end"):
        await make_client(server).issue(1)
    assert len(server.sent()) == 3


async def test_requests_are_counted_by_kind() -> None:
    """Repeats included."""
    server = FakeGitHub()
    server.on("GET", ISSUE, answer({}, 502), answer(issue_json()))
    server.on("GET", COMMENTS, answer([]))
    github = make_github(server)
    client = github.repository(5, REPOSITORY)
    await client.issue(1)
    await client.comments(1, page=1)
    assert github.requests == {"issue": 2, "comments": 1, "token": 1}


class Loopback:
    """A real HTTP server on loopback that answers every GET, and mints; `hang_up` are paths where it just closes."""

    def __init__(self, *hang_up: str) -> None:
        self.connections = 0
        self.heads: list[str] = []
        self._hang_up = hang_up
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                line = head.partition("\r\n")[0]
                self.heads.append(line)
                length = next((int(h[15:]) for h in head.lower().split("\r\n") if h.startswith("content-length:")), 0)
                await reader.readexactly(length)
                if any(path in line for path in self._hang_up):
                    break
                minting = "access_tokens" in line
                body = {"token": "ghs_1", "expires_at": "2999-01-01T00:00:00Z"} if minting else issue_json()
                raw = json.dumps(body).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(raw), raw))
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


def real(base_url: str, **options: Any) -> GitHub:
    """A client on real sockets."""
    return GitHub(base_url=base_url, app_id="42", private_key=pem(), clock=SystemClock(), **options)


async def test_one_pool_serves_all_tasks() -> None:
    """githubkit on its own opens a pool for every request of a task that did not enter its client."""
    server = Loopback()
    async with server as base_url:
        github = real(base_url)
        client = github.repository(5, REPOSITORY)
        for _ in range(5):
            await asyncio.create_task(client.issue(1))
        await github.aclose()
    assert len(server.heads) == 6
    assert server.connections == 1


async def test_a_reply_lost_on_the_wire() -> None:
    """The server read the comment and hung up: unsure, and sent once."""
    server = Loopback("/comments")
    async with server as base_url:
        github = real(base_url)
        with pytest.raises(Unsure):
            await github.repository(5, REPOSITORY).create_comment(1, "hello")
        await github.aclose()
    assert sum("/comments" in head for head in server.heads) == 1


async def test_nobody_listens() -> None:
    """A refused connection carries nothing: the comment surely was not sent."""
    server = Loopback()
    async with server as base_url:
        github = real(base_url)
        client = github.repository(5, REPOSITORY)
        await client.create_comment(1, "a token is there now")
        await github.aclose()
    with pytest.raises(Transient) as caught:
        await client.create_comment(1, "hello")
    assert type(caught.value) is Transient
    await github.aclose()
