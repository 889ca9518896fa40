"""Who we are to GitHub: signatures, clocks, and tokens that may do one thing in one repository."""

from __future__ import annotations

import asyncio
import traceback
from datetime import timedelta

import httpx
import jwt
import pytest

from bot.errors import Forbidden, NotFound, OperatorError, Transient
from bot.github import PERMISSIONS, Purpose
from bot.model.thread import Account, Repository
from tests.github.fake import (
    REPOSITORY,
    START,
    FakeClock,
    FakeGitHub,
    answer,
    comment_json,
    issue_json,
    make_client,
    make_github,
    private_key,
)

ISSUE = "/repos/ana/parser/issues/1"
COMMENTS = f"{ISSUE}/comments"
OTHER = Repository(8, Account(1, "ana", "Organization"), "other")
APP = {"id": 42, "slug": "bot", "owner": {"id": 1, "login": "ana"}}
READ_BODY = {
    "repository_ids": [7],
    "permissions": {"metadata": "read", "contents": "read", "issues": "read"},
}


def threads(server: FakeGitHub) -> FakeGitHub:
    """A thread to read and to write to."""
    server.on("GET", ISSUE, answer(issue_json()))
    server.on("POST", COMMENTS, answer(comment_json(), 201))
    return server


def test_no_purpose_may_do_more_than_its_name_says() -> None:
    """Writing is for posting alone; nothing may write contents, and nobody is an administrator."""
    for purpose, permissions in PERMISSIONS.items():
        levels = set(permissions.values())
        assert levels <= (
            {"read"}
            if purpose in (Purpose.ROLE, Purpose.READ, Purpose.READ_PULL, Purpose.CHECKS, Purpose.GIT)
            else {"write"}
        ), purpose
        assert permissions.get("contents") in (None, "read"), purpose


async def test_the_signature() -> None:
    """Backdated by a minute, and good for nine: GitHub takes ten at most."""
    server = FakeGitHub()
    server.on("GET", "/app", answer(APP))
    await make_github(server).app()
    token = server.sent()[0].headers["authorization"].removeprefix("Bearer ")
    claims = jwt.decode(
        token, private_key().public_key(), ["RS256"], options={"verify_exp": False, "verify_iat": False}
    )
    now = START.timestamp()
    assert claims == {"iss": "42", "iat": now - 60, "exp": now + 540}


async def test_the_signature_is_kept_while_it_is_good() -> None:
    """Signing costs a millisecond; a clock that was set back needs a new one too."""
    clock = FakeClock()
    server = FakeGitHub(clock)
    server.on("GET", "/app", answer(APP))
    github = make_github(server)
    for seconds in (0, 60, 600, -7200):
        clock.advance(seconds)
        await github.app()
    first, second, third, fourth = [request.headers["authorization"] for request in server.sent()]
    assert first == second
    assert len({first, third, fourth}) == 3


@pytest.mark.parametrize("minutes", [5, -5, 60, -60])
async def test_a_clock_that_is_off(minutes: int) -> None:
    """GitHub refuses the times once; its own `Date` says what is right, and from then on nothing is refused."""
    server = threads(FakeGitHub())
    mine = FakeClock(START + timedelta(minutes=minutes))
    client = make_client(server, mine)
    await client.issue(1)
    await client.create_comment(1, "x")
    mints = [r for r in server.requests if r.url.path.endswith("/access_tokens")]
    # five minutes slow is within what GitHub takes
    assert len(mints) == (2 if minutes == -5 else 3)


async def test_a_key_of_another_app() -> None:
    """Refused though the clocks agree: not tried again."""
    server = FakeGitHub()
    github = make_github(server)
    server.jwt_refusal = "A JSON web token could not be decoded"
    with pytest.raises(Forbidden, match="could not be decoded") as caught:
        await github.app()
    assert caught.value.status == 401
    assert len(server.requests) == 1


async def test_a_key_that_is_none() -> None:
    """The operator is told which setting, and never what is in it."""
    server = FakeGitHub()
    word = "drowssap"[::-1]
    with pytest.raises(OperatorError) as caught:
        await make_github(server, private_key=f"-----BEGIN {word}-----").app()
    assert "BOT_GITHUB_PRIVATE_KEY" in caught.value.mend
    assert word not in "".join(traceback.format_exception(caught.value))
    assert server.requests == []


async def test_one_token_for_one_purpose_in_one_repository() -> None:
    """The body of each mint, and which call used which token."""
    server = threads(FakeGitHub())
    server.on("GET", "/repos/ana/other/issues/1", answer(issue_json()))
    server.on("GET", "/repos/ana/parser", answer({"clone_url": "https://github.test/ana/parser.git"}))
    github = make_github(server)
    client = github.repository(5, REPOSITORY)
    await client.issue(1)
    await client.create_comment(1, "x")
    await client.create_comment(1, "x", pull_request=True)
    access = await client.clone_access()
    await github.repository(5, OTHER).issue(1)
    await client.issue(1)
    assert server.minted == [
        READ_BODY,
        {"repository_ids": [7], "permissions": {"issues": "write"}},
        {"repository_ids": [7], "permissions": {"issues": "write", "pull_requests": "write"}},
        {"repository_ids": [7], "permissions": {"contents": "read"}},
        {**READ_BODY, "repository_ids": [8]},
    ]
    used = [request.headers["authorization"].split()[1] for request in server.sent()]
    assert used == ["ghs_1", "ghs_2", "ghs_3", "ghs_1", "ghs_5", "ghs_1"]
    assert access.token == "ghs_4"


async def test_no_token_before_the_first_call() -> None:
    """Making a client mints nothing: an owner who is not allowed costs no token."""
    server = FakeGitHub()
    make_client(server)
    assert server.requests == []


async def test_renewed_before_it_ends() -> None:
    """Five minutes before, so that it lasts for what it was taken for."""
    clock = FakeClock()
    server = threads(FakeGitHub(clock))
    client = make_client(server)
    for minutes in (0, 54, 2):
        clock.advance(minutes * 60)
        await client.issue(1)
    assert [r.headers["authorization"] for r in server.sent()] == ["token ghs_1", "token ghs_1", "token ghs_2"]


async def test_renewed_by_githubs_clock() -> None:
    """A clock five minutes slow does not use a token that has ended."""
    server = threads(FakeGitHub())
    mine = FakeClock(START - timedelta(minutes=5))
    client = make_client(server, mine)
    for minutes in (0, 56):
        mine.advance(minutes * 60)
        server.clock.advance(minutes * 60)
        await client.issue(1)
    assert len(server.minted) == 2


async def test_one_mint_at_a_time() -> None:
    """Fifty calls at once, one token."""
    server = threads(FakeGitHub())
    gate = asyncio.Event()
    server.mint_gate = gate
    client = make_client(server)
    calls = [asyncio.create_task(client.issue(1)) for _ in range(50)]
    await server.mint_asked.wait()
    gate.set()
    await asyncio.gather(*calls)
    assert len(server.minted) == 1


async def test_a_cancelled_call_leaves_the_others_their_token() -> None:
    """The first to ask goes away; the mint goes on."""
    server = threads(FakeGitHub())
    gate = asyncio.Event()
    server.mint_gate = gate
    client = make_client(server)
    first = asyncio.create_task(client.issue(1))
    await server.mint_asked.wait()
    second = asyncio.create_task(client.issue(1))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gate.set()
    assert (await second).number == 1
    assert len(server.minted) == 1


async def test_a_failed_mint_is_not_kept() -> None:
    """The next call asks again."""
    server = threads(FakeGitHub())
    server.mint_answers = [answer({"message": "This installation has been suspended"}, 403)]
    client = make_client(server)
    with pytest.raises(Forbidden, match="suspended"):
        await client.issue(1)
    assert (await client.issue(1)).number == 1


async def test_a_token_refused_in_use_is_minted_anew_once() -> None:
    """For a write too: a 401 comes before anything is done."""
    server = threads(FakeGitHub())
    client = make_client(server)
    await client.create_comment(1, "x")
    server.valid.clear()
    await client.create_comment(1, "x")
    assert [r.headers["authorization"] for r in server.sent()] == ["token ghs_1", "token ghs_1", "token ghs_2"]


async def test_a_token_refused_twice_is_refused() -> None:
    """No storm of mints."""
    server = threads(FakeGitHub())
    server.on("GET", ISSUE, answer({"message": "Bad credentials"}, 401))
    with pytest.raises(Forbidden) as caught:
        await make_client(server).issue(1)
    assert caught.value.status == 401
    assert len(server.minted) == 2


async def test_many_refused_at_once_mint_one() -> None:
    """Whoever comes late with the old token takes the new one."""
    server = threads(FakeGitHub())
    client = make_client(server)
    await client.issue(1)
    server.valid.clear()
    await asyncio.gather(*(client.issue(1) for _ in range(20)))
    assert len(server.minted) == 2


async def test_a_late_refusal_leaves_the_new_token_alone() -> None:
    """A 401 for the old token that arrives after another call has minted."""
    server = threads(FakeGitHub())
    late, go = asyncio.Event(), asyncio.Event()

    async def hold_one(request: httpx.Request) -> httpx.Response:
        response = await server.handle(request)
        if response.status_code == 401 and not late.is_set():
            late.set()
            await go.wait()
        return response

    client = make_client(server, transport=httpx.MockTransport(hold_one))
    await client.issue(1)
    server.valid.clear()
    held = asyncio.create_task(client.issue(1))
    await late.wait()
    await client.issue(1)
    go.set()
    await held
    assert len(server.minted) == 2


@pytest.mark.parametrize("fault", [answer({}, 502), httpx.ReadTimeout("x"), httpx.ConnectError("x")])
async def test_mints_are_repeated(fault: httpx.Response | Exception) -> None:
    """Though they are POSTs: a second token does no harm. The write after it is sent once."""
    server = threads(FakeGitHub())
    server.mint_answers = [fault, fault, fault]
    await make_client(server).create_comment(1, "x")
    assert server.clock.slept == [0.5, 1.0, 2.0]
    assert len(server.sent("POST", COMMENTS)) == 1


async def test_an_unreachable_mint_is_no_unsure_write() -> None:
    """The comment was never sent."""
    server = threads(FakeGitHub())
    server.mint_answers = [httpx.ReadTimeout("x")] * 4
    with pytest.raises(Transient) as caught:
        await make_client(server).create_comment(1, "x")
    assert type(caught.value) is Transient
    assert server.sent("POST", COMMENTS) == []


@pytest.mark.parametrize("status", [422, 403])
async def test_a_missing_permission_is_named(status: int) -> None:
    """GitHub only says that one is missing; the installation tells which."""
    server = threads(FakeGitHub())
    server.mint_answers = [
        answer({"message": "The permissions requested are not granted to this installation."}, status)
    ]
    granted = {"metadata": "read", "contents": "write"}
    server.on("GET", "/app/installations/5", answer({"id": 5, "permissions": granted}))
    with pytest.raises(Forbidden) as caught:
        await make_client(server).issue(1)
    assert str(caught.value) == "the App has not been granted `issues: read` on installation 5"
    assert caught.value.status == status


@pytest.mark.parametrize(
    "installation", [answer({}, 404), answer({"permissions": None}), answer({"permissions": {"issues": "write"}})]
)
async def test_a_missing_permission_where_github_does_not_say(installation: httpx.Response) -> None:
    """All that were asked for are named."""
    server = threads(FakeGitHub())
    server.mint_answers = [answer({"message": "The permissions requested are not granted to this installation."}, 422)]
    server.on("GET", "/app/installations/5", installation)
    with pytest.raises(Forbidden, match="granted `issues: write` on"):
        await make_client(server).create_comment(1, "x")


async def test_the_app_is_gone() -> None:
    """Uninstalled: nothing is there, and nothing is tried again."""
    server = FakeGitHub()
    server.mint_answers = [answer({"message": "Not Found"}, 404)]
    with pytest.raises(NotFound):
        await make_client(server).issue(1)
    assert server.clock.slept == []


@pytest.mark.parametrize("body", [{}, {"token": "x"}, {"token": "x", "expires_at": "soon"}, []])
async def test_a_mint_that_cannot_be_read(body: object) -> None:
    """Worth another try later."""
    server = FakeGitHub()
    server.mint_answers = [answer(body, 201)]
    with pytest.raises(Transient, match="cannot be read"):
        await make_client(server).issue(1)


async def test_a_pull_request_without_saying_so() -> None:
    """GitHub refuses the token for issues; nothing was written, and the wider one is tried."""
    server = threads(FakeGitHub())
    server.on(
        "POST",
        COMMENTS,
        answer({"message": "Resource not accessible by integration"}, 403),
        answer(comment_json(4), 201),
    )
    assert (await make_client(server).create_comment(1, "x")).id == 4
    assert [sorted(body["permissions"]) for body in server.minted] == [["issues"], ["issues", "pull_requests"]]


async def test_other_refusals_do_not_widen_the_token() -> None:
    """A locked issue stays locked."""
    server = threads(FakeGitHub())
    server.on("POST", COMMENTS, answer({"message": "Unable to create comment because issue is locked."}, 403))
    with pytest.raises(Forbidden, match="locked"):
        await make_client(server).create_comment(1, "x")
    assert len(server.minted) == 1


async def test_no_token_in_any_error() -> None:
    """Neither in the text nor in what a traceback prints; nor in the access's repr."""
    server = threads(FakeGitHub())
    server.on("POST", COMMENTS, httpx.ReadTimeout("x"))
    server.on("GET", ISSUE, answer({"message": "no"}, 403))
    server.on("GET", "/repos/ana/parser", answer({"clone_url": "https://github.test/ana/parser.git"}))
    client = make_client(server)
    for call in (client.create_comment(1, "x"), client.issue(1)):
        with pytest.raises((Transient, Forbidden)) as caught:
            await call
        text = "".join(traceback.format_exception(caught.value))
        assert "ghs_" not in text
        assert "Bearer" not in text
    assert "ghs_" not in repr(await client.clone_access())


async def test_a_pull_request_is_read_with_the_token_that_may() -> None:
    """An App that serves issues only is not asked for more; where GitHub refuses, the wider token is tried once."""
    server = FakeGitHub()
    refused = answer({"message": "Resource not accessible by integration"}, 403)
    server.on("GET", ISSUE, refused, answer(issue_json()))
    await make_client(server).issue(1)
    assert [sorted(body["permissions"]) for body in server.minted] == [
        ["contents", "issues", "metadata"],
        ["contents", "issues", "metadata", "pull_requests"],
    ]
