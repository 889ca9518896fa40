"""Issue threads behind an httpx transport: comments and reactions that stay, and faults that a test asks for."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import httpx

from tests.github.fake import FakeClock, FakeGitHub, answer, comment_json

PATH = re.compile(r"/repos/ana/parser/issues/(?:comments/)?(\d+)(?:/(comments|reactions))?")
BOT = {"id": 99, "login": "parser-bot[bot]", "type": "Bot"}
PERSON = {"id": 11, "login": "meg", "type": "User"}

#: what happens to a write: given the request, an answer instead of GitHub's, an error, or None to let it through
Fault = Callable[[httpx.Request], httpx.Response | None]


class ThreadServer(FakeGitHub):
    """`faults` are used up one a write. `lag` hides a comment from listings for so many seconds."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.comments: dict[int, dict[str, Any]] = {}
        self.reactions: defaultdict[str, list[str]] = defaultdict(list)
        self.faults: list[Fault] = []
        self.lag = 0.0
        self.list_faults: list[Fault] = []

    def texts(self, number: int = 1) -> list[str]:
        """The first line of each comment of a thread."""
        return [c["body"].split("\n")[0] for c in self.comments.values() if c["number"] == number]

    def writes(self) -> list[tuple[str, str]]:
        """Method and path of each write so far."""
        return [(request.method, request.url.path) for request in self.sent() if request.method != "GET"]

    def add(self, body: str, *, number: int = 1, user: dict[str, Any] = BOT) -> dict[str, Any]:
        """A comment, as GitHub keeps it: with CRLF."""
        now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        made = comment_json(
            len(self.comments) + 1, user=user, body=body.replace("\n", "\r\n"), created_at=now, updated_at=now
        )
        made["number"], made["seen_at"] = number, self.clock.now().timestamp() + self.lag
        self.comments[made["id"]] = made
        return made

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        found = PATH.fullmatch(request.url.path)
        if found is None:
            return await super()._answer(request)
        faults = self.list_faults if request.method == "GET" else self.faults
        if faults and (instead := faults.pop(0)(request)) is not None:
            return instead
        return self.do(request)

    def do(self, request: httpx.Request) -> httpx.Response:
        """What GitHub does with it."""
        found = PATH.fullmatch(request.url.path)
        assert found is not None
        number, what = int(found[1]), found[2]
        body = json.loads(request.content) if request.content else {}
        if what == "reactions":
            kept = self.reactions[request.url.path]
            if body["content"] not in kept:
                kept.append(body["content"])
            return answer({"id": 1, "content": body["content"]}, 201)
        if request.method == "GET":
            now = self.clock.now().timestamp()
            return answer([c for c in self.comments.values() if c["number"] == number and c["seen_at"] <= now])
        if request.method == "POST":
            return answer(self.add(body["body"], number=number), 201)
        if number not in self.comments:
            return answer({"message": "Not Found"}, 404)
        if request.method == "DELETE":
            del self.comments[number]
            return httpx.Response(204)
        self.comments[number]["body"] = body["body"].replace("\n", "\r\n")
        return answer(self.comments[number])

    def lost(self, request: httpx.Request) -> httpx.Response | None:
        """It was done, and the answer did not come."""
        self.do(request)
        raise httpx.ReadTimeout("no answer", request=request)


def vanished(request: httpx.Request) -> httpx.Response | None:
    """It was not done, and nobody knows."""
    raise httpx.ReadError("reset", request=request)


def unsent(request: httpx.Request) -> httpx.Response | None:
    """Nothing left us."""
    raise httpx.ConnectError("refused", request=request)


def says(status: int, message: str = "no", **headers: str) -> Fault:
    """That answer instead."""
    return lambda _request: answer({"message": message}, status, **headers)
