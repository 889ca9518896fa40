"""What GitHub limits is known before anything is asked, by everybody, and holds back nobody else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from bot.errors import Transient
from bot.model.allowance import EVERYTHING, OwnAllowances, doubled, struck
from tests.github.fake import (
    REPOSITORY,
    START,
    FakeGitHub,
    answer,
    comment_json,
    issue_json,
    make_client,
    make_github,
)

ISSUE = "/repos/ana/parser/issues/1"
SECONDARY = answer({"message": "You have exceeded a secondary rate limit."}, 403)
RESET = str(int((START + timedelta(minutes=40)).timestamp()))


def used_up(**headers: str) -> httpx.Response:
    told: dict[str, Any] = {"x_ratelimit_limit": "5000", "x_ratelimit_remaining": "0", "x_ratelimit_reset": RESET}
    return answer({"message": "API rate limit exceeded"}, 403, **{**told, **headers})


async def asked(client: Any) -> float | None:
    """Seconds for which an issue may not be asked; None where it was read."""
    try:
        await client.issue(1)
    except Transient as error:
        return error.retry_after if error.limited else -1.0
    return None


async def test_nothing_is_asked_before_the_reset() -> None:
    """Neither the issue nor a token for it, by any client of the installation; another one goes on."""
    server = FakeGitHub()
    server.on("GET", ISSUE, used_up(), answer(issue_json()))
    github = make_github(server)
    client = github.repository(5, REPOSITORY)
    assert await asked(client) == 2400
    sent = len(server.requests)
    server.clock.advance(400)
    assert await asked(client) == 2000
    assert len(server.requests) == sent
    assert await github._wire.allowances.until(6, "core", server.clock.now()) is None
    server.clock.advance(2000)
    assert await asked(client) is None


async def test_the_last_one_that_was_allowed() -> None:
    """Nobody has to be refused to know it."""
    server = FakeGitHub()
    headers: dict[str, Any] = {"x_ratelimit_limit": "5000", "x_ratelimit_remaining": "0", "x_ratelimit_reset": RESET}
    server.on("GET", ISSUE, answer(issue_json(), **headers))
    client = make_client(server)
    assert await asked(client) is None
    assert await asked(client) == 2400


async def test_a_reset_counts_only_where_nothing_remains() -> None:
    """A secondary limit has nothing to do with it."""
    server = FakeGitHub()
    told: dict[str, Any] = {"x_ratelimit_limit": "5000", "x_ratelimit_remaining": "12", "x_ratelimit_reset": RESET}
    server.on("GET", ISSUE, answer({"message": "You have exceeded a secondary rate limit"}, 403, **told))
    assert await asked(make_client(server)) == 60


async def test_graphql_has_an_allowance_of_its_own() -> None:
    """What is used up there holds back nothing of REST; what is secondary holds back both."""
    server = FakeGitHub()
    told: dict[str, Any] = {"x_ratelimit_limit": "5000", "x_ratelimit_remaining": "0", "x_ratelimit_reset": RESET}
    body = {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
    server.on("POST", "/graphql", answer(body, x_ratelimit_resource="graphql", **told))
    server.on("GET", ISSUE, answer(issue_json()), SECONDARY)
    client = make_client(server)
    query = client._channel.query
    for _ in range(2):
        with pytest.raises(Transient) as raised:
            await query("query { x }", lambda data: data, kind="x")
        assert (raised.value.limited, raised.value.retry_after) == (True, 2400)
    assert len(server.sent("POST")) == 1
    assert await asked(client) is None
    server.clock.advance(2400)
    assert await asked(client) == 60
    with pytest.raises(Transient):
        await query("query { x }", lambda data: data, kind="x")
    assert len(server.sent("POST")) == 1


async def test_limits_without_a_time_double_until_something_is_done() -> None:
    """60 s, 120, 240; what GitHub then does starts over."""
    server = FakeGitHub()
    server.on("GET", ISSUE, *[SECONDARY] * 3, answer(issue_json()), SECONDARY)
    client = make_client(server)
    waits = []
    for _ in range(5):
        waits.append(await asked(client))
        server.clock.advance(waits[-1] or 0)
    assert waits == [60, 120, 240, None, 60]


async def test_a_limit_on_creating_content_holds_back_no_reading() -> None:
    """The pace of what is posted sees to it."""
    server = FakeGitHub()
    body = {
        "message": "You have exceeded a secondary rate limit and have been temporarily blocked from content creation."
    }
    server.on("POST", f"{ISSUE}/comments", answer(body, 403), answer(body, 403), answer(comment_json(), 201))
    server.on("GET", ISSUE, answer(issue_json()))
    client = make_client(server)
    for _ in range(2):
        # the pace is who doubles it
        with pytest.raises(Transient) as raised:
            await client.create_comment(1, "hello")
        assert (raised.value.limited, raised.value.retry_after) == (True, 60)
        server.clock.advance(60)
    assert await asked(client) is None


async def test_the_app_has_an_allowance_of_its_own() -> None:
    """Installation 0."""
    server = FakeGitHub()
    server.on("GET", "/app", used_up())
    github = make_github(server)
    with pytest.raises(Transient):
        await github.app()
    with pytest.raises(Transient):
        await github.app()
    assert len(server.requests) == 1


def test_those_that_were_under_way_together_meet_one_limit() -> None:
    """Eight requests refused at once are one strike, not an hour."""
    until, strikes = struck(None, 0, None, START, START)
    for number in range(8):
        until, strikes = struck(until, strikes, None, START, START + timedelta(seconds=number))
    assert (until, strikes) == (START + timedelta(seconds=60), 1)
    later = START + timedelta(seconds=61)
    assert struck(until, strikes, None, later, later) == (later + timedelta(seconds=120), 2)


def test_a_time_that_is_told_is_no_strike() -> None:
    """And a shorter one does not end a longer one."""
    until, strikes = struck(None, 0, 300.0, START, START)
    assert (until, strikes) == (START + timedelta(seconds=300), 0)
    assert struck(until, strikes, 10.0, START, START) == (until, 0)
    assert [doubled(number) for number in (1, 2, 7, 40)] == [60, 120, 3_600, 3_600]


async def test_what_was_sent_before_a_limit_does_not_end_it() -> None:
    """An answer may overtake a refusal."""
    own = OwnAllowances()
    await own.limited(5, EVERYTHING, None, START, START)
    own.seen(5, None, START - timedelta(seconds=1), START)
    later = START + timedelta(seconds=60)
    assert await own.limited(5, EVERYTHING, None, later, later) == 120
    assert await own.until(5, "core", later) == later + timedelta(seconds=120)
    assert await own.until(6, "core", later) is None
