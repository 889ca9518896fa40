"""Who is let in, with a password and without."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI

from bot.web.access import Access, is_loopback

PASSWORD = "a password of the tests, é"
API = "/api/gates"


async def ask(path: str, password: str, headers: list[tuple[str, str | bytes]], host: str = "127.0.0.1:8000") -> int:
    """The status of one request."""
    app = FastAPI()
    app.add_middleware(Access, password=password)

    @app.get("/{rest:path}")
    async def served() -> str:
        return "served"

    raw = [(b"host", host.encode())] if host else []
    raw += [(name.encode(), value.encode() if isinstance(value, str) else value) for name, value in headers]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://unused") as client:
        request = client.build_request("GET", path)
        request.headers = httpx.Headers(raw)
        answer = await client.send(request)
    if answer.status_code != 200:
        assert set(answer.json()) == {"code", "message", "hint"}
        assert PASSWORD not in answer.text
    return answer.status_code


def bearer(token: str) -> list[tuple[str, str | bytes]]:
    return [("authorization", f"Bearer {token}")]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (bearer(PASSWORD), 200),
        ([("authorization", f"bearer {PASSWORD}")], 200),
        ([], 401),
        (bearer(""), 401),
        (bearer("another"), 401),
        (bearer(PASSWORD[:-1]), 401),
        (bearer(PASSWORD + "x"), 401),
        ([("authorization", PASSWORD)], 401),
        ([("authorization", f"Basic {PASSWORD}")], 401),
        (bearer(PASSWORD) + bearer("another"), 401),
    ],
)
async def test_with_a_password(headers: list[tuple[str, str | bytes]], status: int) -> None:
    """It is the bearer token, whole and once; then it does not matter how the request came here."""
    assert await ask(API, PASSWORD, headers, "bot.test") == status
    assert await ask(API, PASSWORD, [*headers, ("x-forwarded-for", "203.0.113.9")], "bot.test") == status
    assert await ask("/anything", PASSWORD, headers, "bot.test") == status


@pytest.mark.parametrize("path", ["/webhook", "/healthz", "/readyz", "/docs", "/openapi.json"])
async def test_what_needs_no_password(path: str) -> None:
    """Signed deliveries, probes, and what the API looks like."""
    assert await ask(path, PASSWORD, [], "bot.test") == 200


@pytest.mark.parametrize("path", ["/webhook/", "/healthz/x", "/readyz2", "/Webhook", "/"])
async def test_paths_are_taken_whole(path: str) -> None:
    """A path that only begins like an open one is closed."""
    assert await ask(path, PASSWORD, []) == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("127.1.2.3", 200),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("[::1]:8000", 200),
        ("", 421),
        ("bot.test", 421),
        ("localhost.bot.test", 421),
        ("127.0.0.1.bot.test", 421),
        ("10.0.0.1", 421),
        ("0.0.0.0:8000", 421),
        ("[::]", 421),
        ("localhost@bot.test", 421),
        ("127.0.0.1:8000:9", 421),
    ],
)
async def test_without_a_password_the_host_decides(host: str, status: int) -> None:
    """Only a name or address that no other machine has."""
    assert await ask(API, "", [], host) == status
    assert await ask("/docs", "", [], host) == status
    assert await ask("/webhook", "", [], host) == 200
    assert await ask("/healthz", "", [], host) == 200


async def test_two_hosts_are_none() -> None:
    """Which of them was meant cannot be told."""
    assert await ask(API, "", [("host", "bot.test")]) == 421


@pytest.mark.parametrize("name", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Anything", "X-Real-IP", "Via"])
async def test_without_a_password_nothing_comes_through_a_proxy(name: str) -> None:
    """Anybody may be behind it, whatever Host it sends."""
    assert await ask(API, "", [(name.lower(), "for=203.0.113.9")]) == 403
    assert await ask("/webhook", "", [(name.lower(), "for=203.0.113.9")]) == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8000", 200),
        ("http://127.0.0.1:9000", 403),
        ("https://bot.test", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
async def test_pages_of_other_sites_are_refused(origin: str, status: int) -> None:
    """A browser on this machine asks for whoever wrote the page that it shows."""
    assert await ask(API, "", [("origin", origin)]) == status


@pytest.mark.parametrize("host", ["127.0.0.1\r\nx: y", "é", "[127.0.0.1", "::1", "127.0.0.1:port", " localhost"])
def test_odd_hosts(host: str) -> None:
    """What is no host is not ours."""
    assert not is_loopback(host)
