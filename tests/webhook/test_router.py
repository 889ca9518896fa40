"""The front door, request by request."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote_plus

import httpx
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from bot.errors import OperatorError, Transient
from bot.model.event import HANDLED
from bot.webhook import door, route
from bot.webhook.signature import sign
from tests.webhook.senders import (
    APP,
    SECRET,
    MemoryInbox,
    client,
    comment_payload,
    encoded,
    examples,
    headers,
    pieces,
)

BODY = encoded(comment_payload())


async def send(inbox: MemoryInbox, body: bytes = BODY, given: dict[str, str] | None = None) -> httpx.Response:
    async with client(inbox) as http:
        return await http.post("/webhook", content=body, headers=headers(body) if given is None else given)


async def test_a_signed_delivery_is_taken() -> None:
    """202 with its GUID, and the inbox has body, identities and GitHub's headers."""
    inbox = MemoryInbox()
    answer = await send(inbox)
    assert (answer.status_code, answer.json()) == (202, {"delivery": "guid-1", "status": "accepted"})
    (taken,) = inbox.taken
    assert (taken.app_id, taken.guid, taken.event, taken.action) == (APP, "guid-1", "issue_comment", "created")
    assert (taken.repository_id, taken.body) == (101, BODY)
    assert taken.headers["x-github-event"] == "issue_comment"
    assert not [name for name in taken.headers if not name.startswith("x-github-")]


async def test_the_second_secret_is_good_too() -> None:
    """While a secret rotates both are valid."""
    answer = await send(MemoryInbox(), given=headers(BODY, x_hub_signature_256=sign(b"the next one", BODY).decode()))
    assert answer.status_code == 202


@pytest.mark.parametrize(
    "signature",
    [
        None,
        "",
        "sha256=",
        sign(SECRET, BODY).decode()[:-1],
        sign(SECRET, BODY).decode() * 2,
        sign(b"wrong", BODY).decode(),
        sign(b"", BODY).decode(),
        sign(SECRET, BODY + b" ").decode(),
        "sha1=" + hmac.new(SECRET, BODY, hashlib.sha1).hexdigest(),
    ],
)
async def test_a_wrong_signature_is_401(signature: str | None) -> None:
    """Nothing reaches the inbox."""
    inbox = MemoryInbox()
    given = headers(BODY)
    del given["x-hub-signature-256"]
    answer = await send(inbox, given=given if signature is None else given | {"x-hub-signature-256": signature})
    assert (answer.status_code, inbox.taken) == (401, [])
    assert answer.json() == {"detail": "the signature is missing or wrong"}


@pytest.mark.parametrize("extra", [sign(SECRET, BODY), b"", b"sha256=" + "é".encode() * 32])
async def test_two_signatures_are_401(extra: bytes) -> None:
    """A doubled header is refused, wherever the good one stands, and so is one that is not ASCII."""
    plain = headers(BODY)
    good = (b"x-hub-signature-256", plain.pop("x-hub-signature-256").encode())
    rest = [(name.encode(), value.encode()) for name, value in plain.items()]
    for signatures in ([good, (good[0], extra)], [(good[0], extra), good], [(good[0], extra.replace(good[1], b"x"))]):
        inbox = MemoryInbox()
        async with client(inbox) as http:
            answer = await http.post("/webhook", content=BODY, headers=[*rest, *signatures])
        assert (answer.status_code, inbox.taken) == (401, [])


async def test_sha1_beside_a_missing_sha256_is_401() -> None:
    """GitHub's old header is not looked at."""
    given = headers(BODY, x_hub_signature="sha1=" + hmac.new(SECRET, BODY, hashlib.sha1).hexdigest())
    del given["x-hub-signature-256"]
    assert (await send(MemoryInbox(), given=given)).status_code == 401


def test_no_secret_no_route() -> None:
    """A missing or empty secret is found when the instance is put together, not when somebody forges a request."""
    for secrets in ([], [b""], [SECRET, b""]):
        with pytest.raises(OperatorError):
            route(door(MemoryInbox(), secrets=secrets, app_id=APP))


@pytest.mark.parametrize("chunked", [False, True])
async def test_too_large_is_413(chunked: bool) -> None:
    """One byte over the limit, with a length or chunked without one; the limit itself is taken."""
    inbox = MemoryInbox()
    for body, status in ((BODY, 202), (BODY + b" ", 413)):
        async with client(inbox, limit=len(BODY)) as http:
            content = pieces(body, 100) if chunked else body
            answer = await http.post("/webhook", content=content, headers=headers(body))
        assert answer.status_code == status
    assert len(inbox.taken) == 1


async def test_too_large_is_said_before_the_signature_is_looked_at() -> None:
    """What is over the limit is not hashed."""
    async with client(MemoryInbox(), limit=10) as http:
        answer = await http.post("/webhook", content=b"x" * 11, headers={})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b'"text"',
        b"null",
        b"{",
        BODY + b"x",
        BODY.replace(b"help", b"\xff\xfe"),
        BODY.replace(b"501", b"NaN"),
        BODY.replace(b"501", b"[" * 5_000 + b"]" * 5_000),
        b"[" * 100_000,
        BODY.replace(b"501", b"9" * 10_000),
        BODY.replace(b"help", b"\\ud800"),
    ],
)
async def test_what_is_not_a_json_object_is_400(body: bytes) -> None:
    """Signed, but empty, no JSON, no object, not UTF-8, NaN, nested too deep, a lone surrogate."""
    inbox = MemoryInbox()
    answer = await send(inbox, body)
    assert (answer.status_code, inbox.taken) == (400, [])
    assert "body" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["x-github-event", "x-github-delivery"])
@pytest.mark.parametrize("value", [None, "", "no good", "x" * 200, 'x"y'])
async def test_missing_or_malformed_headers_are_400(name: str, value: str | None) -> None:
    """Without GUID or event a delivery cannot be kept; neither can break out of the answer's JSON."""
    given = headers(BODY)
    del given[name]
    answer = await send(MemoryInbox(), given=given if value is None else given | {name: value})
    assert answer.status_code == 400


def form(payload: str, field: str = "payload") -> bytes:
    return f"{field}={quote_plus(payload)}".encode()


async def test_a_form_is_taken_as_github_sends_it() -> None:
    """The other content type of a webhook: the signature covers the form, the payload is its field."""
    inbox = MemoryInbox()
    body = form(BODY.decode())
    answer = await send(inbox, body, headers(body, content_type="application/x-www-form-urlencoded; charset=utf-8"))
    assert answer.json()["status"] == "accepted"
    assert inbox.taken[0].body == BODY
    same = await send(inbox, BODY, headers(BODY, guid="guid-2"))
    assert same.json()["status"] == "duplicate"


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        form(BODY.decode(), "other"),
        form("[]"),
        form("x"),
        b"payload=%7B%7D&payload=%7B%7D",
        b"payload=%FF",
        form('{"a":"x"}').replace(b"x", b"%FF"),
        form(BODY.decode()) + b"&a=1" * 50,
        b"\xff=1",
        b"&".join(b"a=1" for _ in range(50)),
    ],
)
async def test_a_form_without_one_good_payload_is_400(body: bytes) -> None:
    """No field, two fields, no JSON in it, not UTF-8, too many fields."""
    answer = await send(MemoryInbox(), body, headers(body, content_type="application/x-www-form-urlencoded"))
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("ping", {"zen": "Keep it logically awesome.", "action": None}),
        ("star", {}),
        ("issue_comment", {"action": "invented"}),
        ("issue_comment", {"action": 5}),
        ("issue_comment", {"action": ["created"]}),
        ("issue_comment", {"repository": None}),
        ("issue_comment", {"comment": None}),
        ("issues", {"action": "opened"}),
    ],
)
async def test_what_means_nothing_is_202_ignored(event: str, change: dict[str, Any]) -> None:
    """A ping, unknown events and actions, and a body under a header that does not fit: nothing is kept."""
    inbox = MemoryInbox()
    body = encoded(comment_payload() | change)
    answer = await send(inbox, body, headers(body, event=event))
    assert (answer.status_code, answer.json()) == (202, {"delivery": "guid-1", "status": "ignored"})
    assert inbox.taken == []


async def test_the_same_guid_50_times_at_once_is_taken_once() -> None:
    """One is accepted, 49 are duplicates."""
    inbox = MemoryInbox()
    async with client(inbox) as http:
        answers = await asyncio.gather(*(http.post("/webhook", content=BODY, headers=headers(BODY)) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {202}
    assert sorted(answer.json()["status"] for answer in answers) == ["accepted"] + ["duplicate"] * 49
    assert len(inbox.taken) == 1


async def test_the_same_body_under_another_guid_or_event_is_taken_once() -> None:
    """The signature covers the body only, so whoever saw one request could send it again with other headers."""
    inbox = MemoryInbox()
    edited = encoded(comment_payload() | {"action": "edited"})
    statuses = [
        (await send(inbox, edited, headers(edited, guid=guid, event=event))).json()["status"]
        for guid, event in (("g1", "issue_comment"), ("g2", "issue_comment"), ("g3", "issues"), ("g4", "ping"))
    ]
    assert statuses == ["accepted", "duplicate", "ignored", "ignored"]
    assert len(inbox.taken) == 1


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("database is locked")])
async def test_a_disk_that_refuses_is_503(error: Exception) -> None:
    """GitHub notes the failure, and the delivery is fetched later; the reason stays inside."""
    answer = await send(MemoryInbox(error))
    assert (answer.status_code, answer.json()) == (503, {"detail": "the delivery could not be stored"})


@pytest.mark.parametrize(("error", "traces"), [(Transient("the disk is full"), 0), (RuntimeError("a fault"), 1)])
async def test_a_database_that_refuses_is_logged_in_a_line(error: Exception, traces: int) -> None:
    """For each delivery; a fault of the program with where it happened."""
    with capture_logs() as logged:
        await send(MemoryInbox(error))
    (line,) = (line for line in logged if line["event"] == "delivery_not_stored")
    assert (line["log_level"], line["reason"], bool(line["exc_info"])) == ("error", str(error), bool(traces))


async def test_a_sender_that_stalls_is_408() -> None:
    """The body does not arrive in time."""

    async def stalled() -> Any:
        yield b"{"
        await asyncio.Event().wait()

    async with client(MemoryInbox(), timeout=0.01) as http:
        answer = await http.post("/webhook", content=stalled(), headers=headers(b"{"))
    assert answer.status_code == 408


async def test_only_post() -> None:
    """Looking at the address in a browser tells what it wants."""
    async with client(MemoryInbox()) as http:
        answer = await http.get("/webhook")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_every_example_payload_is_answered() -> None:
    """GitHub's published payloads: never anything but 202, ours with the right fields, all others ignored."""
    inbox = MemoryInbox()
    seen = 0
    async with client(inbox) as http:
        for seen, (event, payload) in enumerate(examples(), start=1):
            body = encoded(payload)
            before = len(inbox.taken)
            answer = await http.post("/webhook", content=body, headers=headers(body, event=event, guid=f"g{seen}"))
            assert answer.status_code == 202, (event, answer.text)
            assert answer.json()["delivery"] == f"g{seen}"
            ours = payload.get("action", "") in HANDLED.get(event, ())
            assert ours or answer.json()["status"] == "ignored"
            if len(inbox.taken) > before:
                taken = inbox.taken[-1]
                assert (taken.event, taken.action) == (event, payload.get("action", ""))
                # what is about an account names no repository
                assert taken.repository_id == payload.get("repository", {"id": 0})["id"]
                assert json.loads(taken.body) == payload
    assert seen == 329
    assert {(taken.event, taken.action) for taken in inbox.taken} >= {
        ("issue_comment", "created"),
        ("issue_comment", "edited"),
        ("issue_comment", "deleted"),
        ("issues", "opened"),
        ("issues", "labeled"),
        ("pull_request", "closed"),
        ("pull_request", "synchronize"),
        ("push", ""),
        ("check_suite", "completed"),
        ("check_run", "completed"),
    }


def test_the_route_is_in_openapi() -> None:
    """`/docs` shows what may be sent and what may come back."""
    app = FastAPI()
    app.include_router(route(door(MemoryInbox(), secrets=[SECRET], app_id=APP)))
    post = app.openapi()["paths"]["/webhook"]["post"]
    assert set(post["responses"]) == {"202", "400", "401", "408", "413", "503"}
    assert set(post["requestBody"]["content"]) == {"application/json", "application/x-www-form-urlencoded"}
    assert {each["name"] for each in post["parameters"]} >= {"X-Hub-Signature-256", "X-GitHub-Delivery"}


@pytest.mark.parametrize("signature", [None, b"sha256=" + b"g" * 64, b"sha256=" + b"0" * 63])
async def test_what_no_secret_can_have_signed_is_not_read(signature: bytes | None) -> None:
    """401 without one piece of the body."""
    taken = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal taken
        taken += 1
        yield b"x"

    given = [(b"x-hub-signature-256", signature)] if signature else []
    app = FastAPI()
    app.include_router(route(door(MemoryInbox(), secrets=[SECRET], app_id=APP)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://bot.example") as http:
        answer = await http.post("/webhook", content=body(), headers=given)
    assert (answer.status_code, taken) == (401, 0)


@pytest.mark.parametrize("signature", ["sha256=short", "sha256=" + "0" * 64])
async def test_a_refused_signature_is_logged_with_the_size_of_what_it_was_for(signature: str) -> None:
    """Whether it was read or not."""
    with capture_logs() as logged:
        answer = await send(MemoryInbox(), given=headers(BODY) | {"x-hub-signature-256": signature})
    assert answer.status_code == 401
    assert [(line["event"], line["size"]) for line in logged] == [("signature_refused", len(BODY))]


async def test_large_bodies_held_open_do_not_fill_the_memory() -> None:
    """Three of 20 MiB are held; a fourth is 503 with `Retry-After`; a small delivery passes, and later a large one."""
    app, end, full = FastAPI(), asyncio.Event(), asyncio.Semaphore(0)
    app.include_router(route(door(MemoryInbox(), secrets=[SECRET], app_id=APP)))
    unsigned = {"x-hub-signature-256": "sha256=" + "0" * 64}

    async def held() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield bytes(1 << 20)
        full.release()
        await end.wait()

    async def large() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield bytes(1 << 20)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://bot.example") as http:
        under_way = [asyncio.create_task(http.post("/webhook", content=held(), headers=unsigned)) for _ in range(3)]
        for _ in under_way:
            await full.acquire()
        refused = await http.post("/webhook", content=large(), headers=unsigned)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        assert (await http.post("/webhook", content=BODY, headers=headers(BODY))).status_code == 202
        end.set()
        assert {answer.status_code for answer in await asyncio.gather(*under_way)} == {401}
        assert (await http.post("/webhook", content=large(), headers=unsigned)).status_code == 401
