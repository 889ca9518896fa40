"""While GitHub does not answer, one request tries it and everybody else is told when to come back."""

from __future__ import annotations

import asyncio
from datetime import datetime

import httpx
import pytest

from bot.errors import Transient, Unsure
from bot.github import GitHub
from bot.github.breaker import FIRST, LONGEST, TRIP, TRIP_ALIKE, Breaker
from tests.github.fake import FakeClock, FakeGitHub, answer, issue_json, make_client, make_github

ISSUE = "/repos/ana/parser/issues/1"
REFUSED = httpx.ConnectError("refused")


def _away(github: GitHub) -> tuple[datetime, str] | None:
    """As it is now."""
    return github.away


def fail(breaker: Breaker, times: int, *, kinds: int = 2, unreachable: bool = False) -> list[bool]:
    """So many failures, of so many kinds."""
    return [breaker.failed(f"kind{number % kinds}", "502", unreachable=unreachable) for number in range(times)]


def test_some_failures_in_a_row_close_it() -> None:
    """Not before; said once."""
    breaker = Breaker(FakeClock())
    assert fail(breaker, TRIP - 1) == [False] * (TRIP - 1)
    assert breaker.ask("issue") == 0
    assert fail(breaker, 1) == [True]
    assert breaker.left == FIRST
    assert fail(breaker, 1) == [False]


def test_any_answer_between_them_starts_over() -> None:
    """What fails beside what works is no outage."""
    breaker = Breaker(FakeClock())
    fail(breaker, TRIP - 1)
    assert not breaker.answered()
    fail(breaker, TRIP - 1)
    assert (breaker.left, breaker.since) == (0, None)


def test_one_kind_of_request_that_fails_is_no_outage_at_once() -> None:
    """A diff that GitHub cannot make holds nobody up; a host that cannot be reached does, whatever was asked."""
    breaker = Breaker(FakeClock())
    fail(breaker, TRIP_ALIKE - 1, kinds=1)
    away = [breaker.since is not None]
    breaker.failed("another", "502", unreachable=False)
    assert [*away, breaker.since is not None] == [False, True]
    for unreachable, needed in ((False, TRIP_ALIKE), (True, TRIP)):
        breaker = Breaker(FakeClock())
        fail(breaker, needed - 1, kinds=1, unreachable=unreachable)
        away = [breaker.since is not None]
        fail(breaker, 1, kinds=1, unreachable=unreachable)
        assert [*away, breaker.since is not None] == [False, True]


def test_one_kind_that_fails_holds_back_itself_alone() -> None:
    """Until something else fails too; an answer to anything else says that GitHub is there."""
    clock = FakeClock()
    breaker = Breaker(clock)
    assert fail(breaker, TRIP_ALIKE, kinds=1) == [False] * TRIP_ALIKE
    assert (breaker.ask("kind0") > 0, breaker.ask("issue"), breaker.left) == (True, 0, 0)
    assert breaker.failed("issue", "502", unreachable=False)
    assert breaker.ask("issue") > 0
    assert breaker.left > 0
    other = Breaker(clock)
    fail(other, TRIP_ALIKE, kinds=1)
    assert other.answered()
    assert other.ask("kind0") == 0


def test_one_tries_it_and_the_others_wait() -> None:
    """Ever more seldom, and every half minute at last."""
    clock = FakeClock()
    breaker = Breaker(clock)
    fail(breaker, TRIP, unreachable=True)
    pauses = []
    for _ in range(7):
        pauses.append(breaker.left)
        clock.advance(breaker.left)
        assert breaker.ask("issue") == 0
        assert breaker.ask("issue") > 0
        breaker.failed("issue", "ConnectError", unreachable=True)
    assert pauses == [1, 2, 4, 8, 16, LONGEST, LONGEST]
    clock.advance(LONGEST)
    assert breaker.ask("issue") == 0
    assert breaker.answered()
    assert (breaker.ask("issue"), breaker.ask("issue"), breaker.since) == (0, 0, None)


def test_a_try_that_nobody_heard_of_again_makes_room() -> None:
    """Whoever tried was cancelled."""
    clock = FakeClock()
    breaker = Breaker(clock)
    fail(breaker, TRIP, unreachable=True)
    clock.advance(1)
    assert breaker.ask("issue") == 0
    clock.advance(30)
    assert breaker.ask("issue") > 0
    clock.advance(30)
    assert breaker.ask("issue") == 0


def test_a_clock_that_was_set_back() -> None:
    """It closes nothing for longer than a minute."""
    clock = FakeClock()
    breaker = Breaker(clock)
    fail(breaker, TRIP, unreachable=True)
    clock.advance(-3_600)
    assert breaker.ask("issue") <= LONGEST
    assert breaker.left <= 60


async def test_a_thousand_that_ask_at_once_are_few_requests() -> None:
    """Those that are told so have a time to come back at; nothing of theirs left."""
    server = FakeGitHub()
    server.on("GET", ISSUE, REFUSED)
    client = make_client(server)
    for _ in range(3):
        with pytest.raises(Transient):
            await client.issue(1)
    before = len(server.requests)
    told = await asyncio.gather(*(client.issue(1) for _ in range(1_000)), return_exceptions=True)
    assert len(server.requests) - before <= 2
    assert all(isinstance(one, Transient) and not one.limited and (one.retry_after or 0) > 0 for one in told)


async def test_a_write_is_put_off_and_not_unsure() -> None:
    """It surely did not leave. Once GitHub answers, it does."""
    server = FakeGitHub()
    server.on("GET", ISSUE, answer(issue_json()))
    server.on("POST", f"{ISSUE}/comments", REFUSED)
    client = make_client(server)
    await client.issue(1)
    for _ in range(TRIP):
        with pytest.raises(Transient):
            await client.create_comment(1, "hello", pull_request=False)
    sent = len(server.requests)
    with pytest.raises(Transient, match="GitHub does not answer \\(ConnectError\\)") as raised:
        await client.create_comment(1, "hello")
    assert not isinstance(raised.value, Unsure)
    assert len(server.requests) == sent
    server.clock.advance(60)
    assert (await client.issue(1)).number == 1


async def test_it_is_told_to_those_who_would_only_ask_in_vain() -> None:
    """How long it stays away, since when, and why."""
    server = FakeGitHub()
    server.on("GET", "/app", REFUSED)
    github = make_github(server)
    assert github.away_for == 0
    assert _away(github) is None
    for _ in range(2):
        with pytest.raises(Transient):
            await github.app()
    assert github.away_for > 0
    away = _away(github)
    assert away is not None
    assert away[1] == "ConnectError"
    assert github.answers == {("app", "ConnectError"): TRIP}
    server.on("GET", "/app", answer({"id": 42, "slug": "bot"}))
    server.clock.advance(60)
    await github.app()
    assert github.away_for == 0
    assert _away(github) is None
    assert github.answers["app", "200"] == 1
