"""What an answer, or the lack of one, means."""

from __future__ import annotations

from datetime import timedelta
from email.utils import format_datetime

import httpx
import pytest

from bot.errors import Forbidden, NotFound, Transient, Unsure
from bot.github import retry
from tests.github.fake import START, answer

UNSENT = [httpx.ConnectError("x"), httpx.ConnectTimeout("x"), httpx.PoolTimeout("x"), httpx.ProxyError("x")]
MAYBE_SENT = [
    httpx.ReadTimeout("x"),
    httpx.WriteTimeout("x"),
    httpx.ReadError("x"),
    httpx.WriteError("x"),
    httpx.RemoteProtocolError("x"),
    httpx.DecodingError("x"),
    TimeoutError(),
    ConnectionResetError(),
]


def seconds(response: httpx.Response) -> float:
    """How long a limit holds."""
    found = retry.limit_of(response, START)
    assert found is not None
    return found.seconds


@pytest.mark.parametrize("cause", UNSENT, ids=repr)
def test_a_write_that_never_left(cause: Exception) -> None:
    """It surely did not happen."""
    assert type(retry.broken(cause, write=True, what="POST /x")) is Transient


@pytest.mark.parametrize("cause", MAYBE_SENT, ids=repr)
def test_a_write_that_may_have_left(cause: Exception) -> None:
    """It may have happened; a read may simply be repeated."""
    assert type(retry.broken(cause, write=True, what="POST /x")) is Unsure
    assert type(retry.broken(cause, write=False, what="GET /x")) is Transient


def test_the_cause_is_not_quoted() -> None:
    """Its text may hold an address with a secret in it."""
    error = retry.broken(httpx.ReadError("https://x:secret@host"), write=False, what="GET /x")
    assert str(error) == "GET /x: ReadError"


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_server_faults(status: int) -> None:
    """A read waits, a write is unsure; what the server asks for is passed on."""
    response = answer({}, status, retry_after="90")
    read = retry.passing(response, START, write=False, what="GET /x")
    write = retry.passing(response, START, write=True, what="POST /x")
    assert type(read) is Transient
    assert type(write) is Unsure
    assert (read.retry_after, read.limited) == (90, False)
    assert write.retry_after == 90


@pytest.mark.parametrize("status", [200, 201, 304, 401, 403, 404, 422])
def test_other_answers_do_not_pass(status: int) -> None:
    """They are the same tomorrow."""
    assert retry.passing(answer({"message": "x"}, status), START, write=True, what="POST /x") is None


IN_AN_HOUR = format_datetime(START + timedelta(hours=1), usegmt=True)
AN_HOUR_AGO = format_datetime(START - timedelta(hours=1), usegmt=True)
RESET = str(int(START.timestamp()) + 120)


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "3600"}, 3600),
        ({"retry-after": IN_AN_HOUR}, 3600),
        ({"retry-after": AN_HOUR_AGO}, 0),
        ({"retry-after": "soon"}, 60),
        ({"retry-after": "9" * 400}, 86_400),
        ({"retry-after": "5", "x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, 5),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, 120),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}, 0),
        ({"x-ratelimit-remaining": "0"}, 60),
    ],
)
def test_limits_by_header(status: int, headers: dict[str, str], expected: float) -> None:
    """Seconds, a date, a date in the past, nonsense; the reset only where nothing remains."""
    response = httpx.Response(status, headers=headers, json={"message": "no"})
    error = retry.passing(response, START, write=True, what="POST /x")
    assert type(error) is Transient
    assert (error.retry_after, error.limited) == (expected, True)


def test_reset_counts_only_where_nothing_remains() -> None:
    """GitHub sends it with every answer, refusals among them."""
    headers = {"x-ratelimit-remaining": "12", "x-ratelimit-reset": RESET}
    assert retry.limit_of(httpx.Response(403, headers=headers, json={"message": "Forbidden"}), START) is None
    assert seconds(httpx.Response(429, headers=headers, json={"message": "x"})) == 60


@pytest.mark.parametrize(
    "words",
    [
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        "API rate limit exceeded for installation ID 5.",
        "You have triggered an abuse detection mechanism.",
    ],
)
def test_limits_by_words(words: str) -> None:
    """A secondary limit without a header waits a minute."""
    assert seconds(answer({"message": words}, 403)) == 60
    assert retry.limit_of(answer({"message": words}, 422), START) is None


def test_content_created_too_fast_is_a_limit() -> None:
    """It comes as a validation error."""
    body = {"message": "Validation Failed", "errors": [{"code": "custom", "message": "was submitted too quickly"}]}
    assert seconds(answer(body, 422)) == 60


def test_githubs_clock_decides() -> None:
    """Ours may be minutes off."""
    date = format_datetime(START - timedelta(minutes=5), usegmt=True)
    later = format_datetime(START, usegmt=True)
    assert seconds(answer({}, 429, date=date, retry_after=later)) == 300
    reset = str(int(START.timestamp()))
    assert seconds(answer({}, 403, date=date, x_ratelimit_remaining="0", x_ratelimit_reset=reset)) == 300


@pytest.mark.parametrize("status", [404, 410])
def test_gone(status: int) -> None:
    """Not there, or not shown to us."""
    assert type(retry.final(answer({"message": "Not Found"}, status), what="GET /x")) is NotFound


@pytest.mark.parametrize("status", [400, 401, 403, 409, 422, 451])
def test_refused(status: int) -> None:
    """With GitHub's words and the status."""
    error = retry.final(answer({"message": "Issue is locked"}, status), what="POST /x")
    assert isinstance(error, Forbidden)
    assert error.status == status
    assert str(error) == f"POST /x: {status} Issue is locked"


@pytest.mark.parametrize("status", [200, 204, 304])
def test_good_answers(status: int) -> None:
    """No error."""
    assert retry.final(httpx.Response(status), what="GET /x") is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"message": "Validation Failed", "errors": [{"message": "body is too long"}]},
            "Validation Failed (body is too long)",
        ),
        (
            {"message": "m", "errors": [{"resource": "Issue", "field": "title", "code": "missing"}]},
            "m (Issue title missing)",
        ),
        ({"message": "m", "errors": ["a", "b", 3, {}]}, "m (a; b)"),
        ({"message": "m", "errors": "odd"}, "m"),
        ({"message": "x" * 900}, "x" * 500),
        ({"message": None}, ""),
        ([], ""),
    ],
)
def test_message(body: object, expected: str) -> None:
    """The words, then the details of a validation error; bounded."""
    assert retry.message(answer(body, 422)) == expected


def test_message_of_a_page() -> None:
    """A proxy's HTML is not quoted."""
    assert retry.message(httpx.Response(403, html="<h1>no</h1>")) == ""


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Foo 2026"])
def test_server_time_unreadable(date: str) -> None:
    """No clock rather than a wrong one."""
    assert retry.server_time(httpx.Response(200, headers={"date": date})) is None
