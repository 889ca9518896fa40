"""GitHub's log of deliveries through the App's client, on the look-alike, every exchange checked."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from bot.demo.deliveries import Deliverer
from bot.errors import Forbidden, NotFound, Transient, Unsure
from bot.github import GitHub
from tests.contract.openapi import CheckedTransport
from tests.demo.scene import Scene, key, scene
from tests.github.fake import START, FakeClock, FakeGitHub, answer, make_github

LOG = "/app/hook/deliveries"


def github_of(made: Scene) -> GitHub:
    """The App's client, every exchange checked."""
    return GitHub(
        base_url=made.world.api_url, app_id=str(made.app.id), private_key=key(), clock=made.clock,
        transport=CheckedTransport(made.transport.inner, closed=True),
    )  # fmt: skip


def deliverer(made: Scene, status: int) -> Deliverer:
    """Every webhook is answered so; 0: nobody is there."""

    async def receive(_: httpx.Request) -> httpx.Response:
        if status == 0:
            raise httpx.ConnectError("nobody there")
        return httpx.Response(status, json={"status": "accepted"})

    return Deliverer(made.world, "http://bot.test/webhook", transport=httpx.MockTransport(receive))


async def test_page_after_page(tmp_path: Path) -> None:
    """Newest first, a hundred at once, each attempt a row; GitHub's time with it."""
    made = scene(tmp_path)
    async with deliverer(made, 0) as sending:
        await sending.settle()
        for number in range(100):
            made.world.comment(made.repo, 1, "sam", str(number))
        await sending.settle()
    async with deliverer(made, 202) as sending:
        again = await sending.redeliver(made.world.deliveries[-1].guid)
    log = github_of(made).hook_log
    first = await log.page(None)
    assert (len(first.attempts), first.cursor is None) == (100, False)
    newest, failed = first.attempts[:2]
    assert (newest.guid, newest.redelivery, newest.answered) == (failed.guid, True, True)
    assert (newest.id, newest.event, newest.action) == (again.id, "issue_comment", "created")
    assert (failed.status_code, failed.status, failed.answered) == (502, "failed to connect to host", False)
    assert abs(first.at - made.clock.now()) < timedelta(seconds=2)
    second = await log.page(first.cursor)
    assert ([one.event for one in second.attempts][-2:], second.cursor) == (["issues", "installation"], None)
    assert not {one.id for one in first.attempts} & {one.id for one in second.attempts}


async def test_what_was_sent(tmp_path: Path) -> None:
    """Payload and headers, and what came back; an unknown one is not found."""
    made = scene(tmp_path)
    async with deliverer(made, 202) as sending:
        await sending.settle()
        log = github_of(made).hook_log
        (newest, *_) = (await log.page(None)).attempts
        sent = await log.request(newest.id)
        assert sent.payload == made.world.deliveries[-1].payload()
        assert (sent.headers["x-github-event"], sent.headers["x-github-delivery"]) == ("issues", newest.guid)
        assert sent.answer == '{"status":"accepted"}'
        await log.redeliver(newest.id)
        await sending.settle()
        assert (await log.page(None)).attempts[0].redelivery
        with pytest.raises(NotFound):
            await log.request(1)


async def test_the_log_keeps_three_days(tmp_path: Path) -> None:
    """What is older is told no longer."""
    made = scene(tmp_path)
    async with deliverer(made, 0) as sending:
        await sending.settle()
        made.clock.advance(timedelta(days=3).total_seconds() + 1)
        made.world.comment(made.repo, 1, "sam", "later")
        await sending.settle()
    log = github_of(made).hook_log
    assert [one.event for one in (await log.page(None)).attempts] == ["issue_comment"]
    with pytest.raises(NotFound):
        await log.request(made.world.attempts[0].id)


async def test_odd_answers() -> None:
    """No action, no code, a form's text, no payload, an answer as an object; no page that can be read."""
    server = FakeGitHub()
    log = make_github(server).hook_log
    row = {"id": 1, "guid": "g", "delivered_at": "2026-03-02T12:00:00.123Z", "event": "push", "action": None}
    server.on("GET", LOG, answer([row], link='<https://api.github.test/x?per_page=1>; rel="next"'), answer({}))
    page = await log.page(None)
    assert (page.attempts[0].action, page.attempts[0].status_code, page.cursor) == ("", 0, None)
    assert not page.attempts[0].answered
    with pytest.raises(Transient):
        await log.page("v1_2")
    assert dict(server.sent("GET", LOG)[-1].url.params) == {"per_page": "100", "cursor": "v1_2"}
    form = {"request": {"headers": None, "payload": '{"zen": "x"}'}, "response": {"payload": {"a": 1}}}
    server.on("GET", f"{LOG}/1", answer(form), answer({"request": {"payload": None}, "response": None}))
    found = await log.request(1)
    assert (found.payload, found.headers, found.answer) == ({"zen": "x"}, {}, '{"a": 1}')
    found = await log.request(1)
    assert (found.payload, found.answer) == (None, "")


async def test_the_time_is_githubs() -> None:
    """Ours may be off: what is read up to is compared with GitHub's own times."""
    server = FakeGitHub()
    ours = FakeClock(START + timedelta(minutes=5))
    server.on("GET", LOG, answer([]))
    assert (await make_github(server, ours).hook_log.page(None)).at == START


async def test_faults() -> None:
    """Reads are repeated; asking for one more attempt is not, and may have happened."""
    server = FakeGitHub()
    log = make_github(server).hook_log
    server.on("GET", LOG, answer({}, 502), answer([]))
    assert (await log.page(None)).attempts == ()
    server.on("GET", LOG, answer({"message": "no"}, 403))
    with pytest.raises(Forbidden):
        await log.page(None)
    server.on("POST", f"{LOG}/1/attempts", answer({}, 502))
    with pytest.raises(Unsure):
        await log.redeliver(1)
    assert len(server.sent("POST")) == 1
