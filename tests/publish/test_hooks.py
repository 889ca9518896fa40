"""Outgoing webhooks: sent once; what may have arrived is not sent again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.errors import UserError
from bot.model.ident import compact
from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.publish.hooks import TRIES, Hooks, Target
from bot.publish.performer import Act
from bot.publish.sender import Sender
from bot.store import Session, Store, open_store, outbox
from bot.store.tables import Outbox
from tests import rows
from tests.databases import DATABASES
from tests.github.fake import FakeClock
from tests.sending import claim_next

TOKEN = "a-token-of-the-tests"
Answer = Callable[[httpx.Request], httpx.Response]


class World:
    """A database, a sender, and the other side: what `answers` say, one a request, the last one stays."""

    def __init__(self, store: Store) -> None:
        self.store, self.clock = store, FakeClock(rows.NOW)
        self.answers: list[Answer | Exception | int] = [200]
        self.requests: list[httpx.Request] = []
        self.resolved: list[tuple[str, str]] = []
        self.refuses: UserError | None = None
        self.target = Target("https://hook.test/in?key=k", {"Authorization": f"Bearer {TOKEN}"})

    def sender(self, owner: str = "me") -> Sender:
        hooks = Hooks(self.resolve, transport=httpx.MockTransport(self.handle))
        return Sender(self.store, hooks.performers, self.clock, owner=owner)

    async def resolve(self, act: Act, resource: str) -> Target:
        self.resolved.append((act.row.id, resource))
        if self.refuses:
            raise self.refuses
        return self.target

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer) if isinstance(answer, int) else answer(request)

    async def want(self, body: Any = "x") -> str:
        def work(session: Session) -> str:
            return outbox.ensure(
                session, Slot("run/1", "webhook.chat"), thread_id=rows.thread(session).id, action="webhook",
                purpose="action", body=compact({"resource": "chat", "body": body}), now=self.clock.now(),
            ).id  # fmt: skip

        return await self.store.write(work)

    async def row(self, row_id: str) -> Outbox:
        return await self.store.read(lambda session: session.get_one(Outbox, row_id))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = open_store(DATABASES.of_folder(tmp_path))
    yield World(store)
    await store.close()


@pytest.mark.parametrize(
    ("body", "sent", "kind"),
    [
        ({"text": "é", "n": [1]}, '{"text":"é","n":[1]}', "application/json"),
        ('{"a": 1}', '{"a": 1}', "application/json"),
        ("plain words", "plain words", "text/plain; charset=utf-8"),
        (None, "null", "application/json"),
    ],
)
async def test_what_is_sent(world: World, body: Any, sent: str, kind: str) -> None:
    """JSON as JSON, any other text as text, with the resource's own headers."""
    row_id = await world.want(body)
    await world.sender().sweep()
    (request,) = world.requests
    assert (request.method, str(request.url)) == ("POST", "https://hook.test/in?key=k")
    assert request.content.decode() == sent
    assert (request.headers["content-type"], request.headers["authorization"]) == (kind, f"Bearer {TOKEN}")
    row = await world.row(row_id)
    assert (row.state, row.outcome) == (OutboxState.POSTED, {"resource": "chat", "status": 200})
    assert world.resolved == [(row_id, "chat")]


@pytest.mark.parametrize("fault", [httpx.ReadTimeout("t"), httpx.ReadError("reset"), httpx.WriteError("w"), 500, 503])
async def test_what_may_have_arrived_is_not_repeated(world: World, fault: Exception | int) -> None:
    """Dropped as unsure, however long one waits."""
    world.answers = [fault]
    row_id = await world.want()
    sender = world.sender()
    await sender.sweep()
    # at once: there is nowhere to look
    assert (await world.row(row_id)).state is OutboxState.DROPPED
    for _ in range(3):
        world.clock.advance(1_000)
        await sender.sweep()
    row = await world.row(row_id)
    assert (row.state, row.reason) == (OutboxState.DROPPED, "unsure")
    assert row.outcome is not None
    assert row.outcome["error"].startswith("`chat` ")
    assert len(world.requests) == 1


async def test_killed_while_sending(world: World) -> None:
    """The next process does not know whether it arrived, and leaves it."""
    row_id = await world.want()
    await world.store.write(lambda session: claim_next(session, "dead", world.clock.now()))
    sender = world.sender()
    await sender.recover()
    for _ in range(3):
        await sender.sweep()
        world.clock.advance(100)
    row = await world.row(row_id)
    assert (row.state, row.reason) == (OutboxState.DROPPED, "unsure")
    assert row.outcome == {"error": "the process that sent it ended"}
    assert world.requests == []


async def test_killed_before_sending(world: World) -> None:
    """A row that was not claimed is sent by the next process."""
    row_id = await world.want()
    sender = world.sender("next")
    await sender.recover()
    await sender.sweep()
    assert (await world.row(row_id)).state is OutboxState.POSTED


@pytest.mark.parametrize("fault", [httpx.ConnectError("refused"), httpx.ConnectTimeout("t"), 429])
async def test_what_surely_did_not_arrive_is_tried_again(world: World, fault: Exception | int) -> None:
    """A few times."""
    world.answers = [fault, fault, 204]
    row_id = await world.want()
    sender = world.sender()
    for _ in range(4):
        await sender.sweep()
        world.clock.advance(60)
    assert (await world.row(row_id)).outcome == {"resource": "chat", "status": 204}
    assert len(world.requests) == 3
    world.answers = [fault]
    await world.store.write(lambda session: _again(session, row_id))
    for _ in range(TRIES + 3):
        await sender.sweep()
        world.clock.advance(600)
    row = await world.row(row_id)
    assert row.state is OutboxState.DROPPED
    assert row.reason.endswith(f", {TRIES} times")
    assert len(world.requests) == 3 + TRIES


def _again(session: Session, row_id: str) -> None:
    row = session.get_one(Outbox, row_id)
    row.state = OutboxState.PENDING
    session.add(row)


async def test_how_long_it_waits(world: World) -> None:
    """As the other side asks; not as GitHub's pace does."""
    world.answers = [lambda _request: httpx.Response(429, headers={"Retry-After": "90"}), 200]
    row_id = await world.want()
    await world.sender().sweep()
    assert (await world.row(row_id)).not_before == world.clock.now() + timedelta(seconds=90)


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404])
async def test_a_refusal_is_the_end(world: World, status: int) -> None:
    """A redirect is not followed: the headers are for one place."""
    world.answers = [lambda _request: httpx.Response(status, headers={"Location": "https://elsewhere.test/"})]
    row_id = await world.want()
    await world.sender().sweep()
    row = await world.row(row_id)
    assert (row.state, row.reason) == (OutboxState.DROPPED, f"`chat` answered {status}")
    assert len(world.requests) == 1


async def test_a_resource_that_is_missing(world: World) -> None:
    """Named, and nothing is sent."""
    world.refuses = UserError("resource", "`chat` is no resource of this configuration")
    row_id = await world.want()
    await world.sender().sweep()
    row = await world.row(row_id)
    assert (row.state, row.reason) == (OutboxState.DROPPED, "resource: `chat` is no resource of this configuration")
    assert world.requests == []


@pytest.mark.parametrize(
    "target",
    [
        Target("ftp://hook.test/"),
        Target("https://hook.test/", {"X": "é\u2028"}),
        Target("nowhere"),
        Target("http://a\0b/"),
    ],
)
async def test_a_target_that_cannot_be_used(world: World, target: Target) -> None:
    """An address or a header of the operator's."""
    world.target = target
    row_id = await world.want()
    await world.sender().sweep()
    row = await world.row(row_id)
    assert (row.state, row.reason) == (OutboxState.DROPPED, "the address or a header of `chat` cannot be used")


async def test_nothing_of_the_target_is_kept_or_shown(world: World) -> None:
    """Its address may hold a key, its headers do."""
    world.answers = [httpx.ReadTimeout(f"{world.target.url} {TOKEN}")]
    row = await world.row(row_id := await world.want())
    await world.sender().sweep()
    row = await world.row(row_id)
    kept = json.dumps([row.reason, row.outcome, row.body, repr(world.target)])
    assert TOKEN not in kept
    assert "key=k" not in kept
