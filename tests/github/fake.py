"""A small stateful GitHub behind an httpx transport: it checks JWTs, mints tokens, and plays what a test wrote down."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bot.github import GitHub, RepositoryClient
from bot.model.thread import Account, Repository

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
BASE = "https://api.github.test"
REPOSITORY = Repository(7, Account(1, "ana", "Organization"), "parser")
COMMIT = "c0ffee" + "0" * 34

#: what a test scripts: an answer, an error to raise, or a function of the request
Answer = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


class FakeClock:
    """Time that moves only by `sleep` and `advance`; `slept` lists every sleep."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


@cache
def private_key() -> rsa.RSAPrivateKey:
    """One key for all tests of a process: making one takes a while."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def pem() -> str:
    form = PrivateFormat.TraditionalOpenSSL
    return private_key().private_bytes(Encoding.PEM, form, NoEncryption()).decode()


class FakeGitHub:
    """Knows App 42 with installation 5; `clock` is GitHub's own, which may differ from the client's."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.requests: list[httpx.Request] = []
        self.minted: list[dict[str, Any]] = []
        self.valid: set[str] = set()
        #: set when a mint is asked for; answered once `mint_gate` is set, where there is one
        self.mint_asked = asyncio.Event()
        self.mint_gate: asyncio.Event | None = None
        #: words that every JWT is refused with
        self.jwt_refusal = ""
        self.mint_answers: list[Answer] = []
        self.token_life = timedelta(hours=1)
        self._routes: dict[tuple[str, str], list[Answer]] = {}

    def on(self, method: str, path: str, *answers: Answer) -> None:
        """Play answers one after the other; the last one stays. `path` starts after the base, without the query."""
        self._routes[method, path] = list(answers)

    def moves(self, before: str, after: str) -> None:
        """What began with one path is found below another, and there alone."""
        self._routes = {
            (method, after + path.removeprefix(before) if path.startswith(f"{before}/") else path): answers
            for (method, path), answers in self._routes.items()
        }

    def sent(self, method: str | None = None, path: str | None = None) -> list[httpx.Request]:
        """Requests so far other than mints, all or those that match."""
        return [
            request
            for request in self.requests
            if not request.url.path.endswith("/access_tokens")
            and method in (None, request.method)
            and path in (None, request.url.path)
        ]

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.handle)

    async def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        response = await self._answer(request)
        response.headers.setdefault("Date", format_datetime(self.clock.now(), usegmt=True))
        return response

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        scheme, _, credential = request.headers.get("authorization", "").partition(" ")
        if path.startswith("/app") or path.endswith("/installation"):
            if scheme != "Bearer" or (refusal := self._jwt_refusal(credential)):
                return answer({"message": refusal if scheme == "Bearer" else "Requires authentication"}, 401)
        elif credential not in self.valid:
            return answer({"message": "Bad credentials"}, 401)
        if path.endswith("/access_tokens"):
            return await self._mint(request)
        answers = self._routes.get((request.method, path))
        if not answers:
            return answer({"message": "Not Found"}, 404)
        return play(answers.pop(0) if len(answers) > 1 else answers[0], request)

    def _jwt_refusal(self, token: str) -> str:
        """GitHub's rules: at most ten minutes ahead, and not from the future."""
        if self.jwt_refusal:
            return self.jwt_refusal
        key = private_key().public_key()
        claims = jwt.decode(token, key, ["RS256"], options={"verify_exp": False, "verify_iat": False})
        assert claims["iss"] == "42"
        now = self.clock.now().timestamp()
        if claims["iat"] > now:
            return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
        if claims["exp"] > now + 600:
            return "'Expiration time' claim ('exp') is too far in the future"
        return "'Expiration time' claim ('exp') must be a numeric value" if claims["exp"] <= now else ""

    async def _mint(self, request: httpx.Request) -> httpx.Response:
        self.mint_asked.set()
        if self.mint_gate:
            await self.mint_gate.wait()
        if self.mint_answers:
            return play(self.mint_answers.pop(0), request)
        assert request.url.path == "/app/installations/5/access_tokens"
        self.minted.append(json.loads(request.content))
        token = f"ghs_{len(self.minted)}"
        self.valid.add(token)
        ends = self.clock.now() + self.token_life
        return answer({"token": token, "expires_at": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}, 201)


def play(scripted: Answer, request: httpx.Request) -> httpx.Response:
    if isinstance(scripted, Exception):
        raise scripted
    if isinstance(scripted, httpx.Response):
        # a copy: a response can be read by one client only
        return httpx.Response(scripted.status_code, headers=scripted.headers, content=scripted.content)
    return scripted(request)


def answer(body: Any, status: int = 200, **headers: str) -> httpx.Response:
    """A JSON answer; header names in snake case."""
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


def make_github(server: FakeGitHub, clock: FakeClock | None = None, **options: Any) -> GitHub:
    """The client under test, on the server's clock unless told otherwise."""
    return GitHub(
        base_url=options.pop("base_url", BASE),
        app_id="42",
        private_key=options.pop("private_key", pem()),
        clock=clock or server.clock,
        transport=options.pop("transport", server.transport),
        **options,
    )


def make_client(server: FakeGitHub, clock: FakeClock | None = None, **options: Any) -> RepositoryClient:
    repository = options.pop("repository", REPOSITORY)
    return make_github(server, clock, **options).repository(5, repository)


def comment_json(number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "id": number,
        "user": {"id": 11, "login": "meg", "type": "User"},
        "body": f"comment {number}",
        "html_url": f"https://github.test/ana/parser/issues/1#issuecomment-{number}",
        "created_at": "2026-03-01T10:00:00Z",
        "updated_at": "2026-03-01T10:00:00Z",
        **fields,
    }


def issue_json(number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "id": 900 + number,
        "number": number,
        "title": "It crashes",
        "body": "See log",
        "user": {"id": 11, "login": "meg", "type": "User"},
        "state": "open",
        "html_url": f"https://github.test/ana/parser/issues/{number}",
        "labels": [{"name": "bug"}],
        "comments": 3,
        "created_at": "2026-03-01T09:00:00Z",
        "updated_at": "2026-03-01T10:00:00Z",
        **fields,
    }
