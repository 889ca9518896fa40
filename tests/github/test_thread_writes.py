"""Labels, assignees and closing: what is asked, and what the answers mean."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from bot.errors import Forbidden, NotFound, Transient, Unsure
from bot.github import RepositoryClient
from tests.github.fake import FakeGitHub, answer, make_client

ISSUE = "/repos/ana/parser/issues/1"
Call = Callable[[RepositoryClient], Awaitable[Any]]
WRITES: list[tuple[str, str, Call]] = [
    ("POST", f"{ISSUE}/labels", lambda client: client.add_labels(1, ["bug"])),
    ("DELETE", f"{ISSUE}/labels/bug", lambda client: client.remove_label(1, "bug")),
    ("POST", f"{ISSUE}/assignees", lambda client: client.add_assignees(1, ["meg"])),
    ("PATCH", ISSUE, lambda client: client.close(1, "completed")),
]


def body(server: FakeGitHub) -> Any:
    return json.loads(server.sent()[-1].content)


async def test_labels() -> None:
    """All that the thread has now come back."""
    server = FakeGitHub()
    server.on("POST", f"{ISSUE}/labels", answer([{"name": "old"}, {"name": "bug"}]))
    assert await make_client(server).add_labels(1, ("bug",)) == ("old", "bug")
    assert body(server) == {"labels": ["bug"]}
    assert server.minted[-1]["permissions"] == {"issues": "write"}


async def test_a_label_less() -> None:
    """Its name is quoted; one that is not there is told from a thread that is not."""
    server = FakeGitHub()
    client = make_client(server)
    server.on("DELETE", f"{ISSUE}/labels/a/b c", answer([]), answer({"message": "Label does not exist"}, 404))
    assert await client.remove_label(1, "a/b c") is True
    assert server.sent()[-1].url.raw_path.endswith(b"/labels/a%2Fb%20c")
    assert await client.remove_label(1, "a/b c") is False
    with pytest.raises(NotFound):
        await client.remove_label(2, "a/b c")


async def test_assignees() -> None:
    """Those who are assigned now, which may be fewer than asked for."""
    server = FakeGitHub()
    people = [{"id": 11, "login": "meg", "type": "User"}]
    server.on("POST", f"{ISSUE}/assignees", answer({"number": 1, "assignees": people}, 201))
    assert await make_client(server).add_assignees(1, ["meg", "sam"]) == ("meg",)
    assert body(server) == {"assignees": ["meg", "sam"]}


@pytest.mark.parametrize(
    ("reason", "pull_request", "sent"),
    [
        (None, False, {"state": "closed"}),
        ("not_planned", False, {"state": "closed", "state_reason": "not_planned"}),
        ("not_planned", True, {"state": "closed"}),
    ],
)
async def test_closing(reason: str | None, pull_request: bool, sent: dict[str, str]) -> None:
    """A pull request has no reason."""
    server = FakeGitHub()
    server.on("PATCH", ISSUE, answer({"number": 1}))
    await make_client(server).close(1, reason, pull_request=pull_request)
    assert body(server) == sent
    permissions = {"issues": "write"} | ({"pull_requests": "write"} if pull_request else {})
    assert server.minted[-1]["permissions"] == permissions


@pytest.mark.parametrize(("method", "path", "call"), WRITES)
@pytest.mark.parametrize(
    ("scripted", "error"),
    [
        (httpx.ReadTimeout("t"), Unsure),
        (answer({"message": "x"}, 502), Unsure),
        (httpx.ConnectError("c"), Transient),
        (answer({"message": "no"}, 403), Forbidden),
        (answer({"message": "gone"}, 410), NotFound),
        (answer({"message": "invalid"}, 422), Forbidden),
    ],
)
async def test_every_write_is_sent_once(
    method: str, path: str, call: Call, scripted: Any, error: type[Exception]
) -> None:
    """Whatever becomes of it."""
    server = FakeGitHub()
    server.on(method, path, scripted)
    with pytest.raises(error) as caught:
        await call(make_client(server))
    assert isinstance(caught.value, Unsure) is (error is Unsure)
    assert len(server.sent(method)) == 1


@pytest.mark.parametrize("scripted", [answer({"labels": 1}), answer([{"id": 1}]), httpx.Response(200, text="<html>")])
async def test_an_answer_that_cannot_be_read(scripted: httpx.Response) -> None:
    """The server said yes: it was probably done."""
    server = FakeGitHub()
    server.on("POST", f"{ISSUE}/labels", scripted)
    with pytest.raises(Unsure):
        await make_client(server).add_labels(1, ["bug"])
