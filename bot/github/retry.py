"""What an answer, or the lack of one, means: the rules for repeating, waiting and giving up. Pure.

| what happened                                | a read, or a token     | a write                                     |
|----------------------------------------------|------------------------|---------------------------------------------|
| nothing left us (refused, no name, no slot)  | repeated               | `Transient`                                 |
| it may have left us (timeout, reset, 5xx)    | repeated               | `Unsure`: it may have happened              |
| a rate limit (403, 429)                      | `Transient(limited)`   | `Transient(limited)`: it was refused        |
| 404, 410                                     | `NotFound`             | `NotFound`                                  |
| any other 4xx                                | `Forbidden`            | `Forbidden`                                 |

A repeat comes after 0.5, 1 and 2 seconds, at most three times, and never where the other side asks for longer: nobody
sleeps on `Retry-After`, the work is put back instead.
Source: https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from bot.errors import BotError, Forbidden, NotFound, Transient, Unsure
from bot.github import refusal
from bot.model.allowance import EVERYTHING, UNTOLD, Left

#: seconds before each repeat
BACKOFF = (0.5, 1.0, 2.0)
#: what GitHub asks for where a secondary limit has no header
SECONDARY_WAIT = UNTOLD
#: the resource of all that is asked over REST here
CORE = "core"
#: the resource of a limit on creating content, which holds back nothing else (`bot.publish.pace`)
CONTENT = "content"
#: no header makes us wait longer than this, whatever it says
_LONGEST_WAIT = 86_400.0
#: what fits a column
_MOST = 2**31 - 1
_RESOURCE = re.compile(r"[a-z_]{1,40}")

#: raised before a byte of the request can have left
_UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_LIMIT_WORDS = ("rate limit", "abuse detection", "submitted too quickly")
_CONTENT_WORDS = ("content creation", "submitted too quickly")


@dataclass(frozen=True, slots=True)
class Limit:
    """A rate limit: what it holds for, and for how many seconds; None where GitHub did not say."""

    resource: str
    wait: float | None

    @property
    def seconds(self) -> float:
        """At least so long."""
        return SECONDARY_WAIT if self.wait is None else self.wait


def broken(cause: Exception, *, write: bool, what: str) -> Transient:
    """The error for an exchange that ended without an answer. Only the kind of `cause` is quoted: it may hold a URL."""
    text = f"{what}: {type(cause).__name__}"
    if write and not isinstance(cause, _UNSENT):
        return Unsure(text)
    return Transient(text)


def passing(response: httpx.Response, now: datetime, *, write: bool, what: str) -> Transient | None:
    """The error for an answer that says "later": a rate limit, or a fault of the server's. None for every other."""
    limit = limit_of(response, now)
    if limit is not None:
        return limited(limit.seconds, what=what)
    if response.status_code >= 500 or response.status_code == 408:
        text = f"{what}: {response.status_code}"
        after = _wait(response.headers.get("retry-after"), server_time(response) or now)
        return Unsure(text, after) if write else Transient(text, after)
    return None


def final(response: httpx.Response, *, what: str) -> BotError | None:
    """The error for an answer that repeating will not change; None for a good one."""
    if response.status_code < 400:
        return None
    words = message(response)
    text, why = f"{what}: {response.status_code} {words}".rstrip(), refusal.why(response, words)
    if response.status_code in (404, 410):
        return NotFound(text, why)
    return Forbidden(text, response.status_code, why)


def limited(seconds: float, *, what: str) -> Transient:
    """The error for what a rate limit does not let through for so long."""
    return Transient(f"{what}: rate limit, {seconds:.0f} s", seconds, limited=True)


def limit_of(response: httpx.Response, now: datetime, asked: str = CORE) -> Limit | None:
    """What limits a call for the resource `asked`; None where the answer is no rate limit.

    `now` is used only where the answer has no `Date`: GitHub's clock decides, ours may be minutes off. The time of a
    reset counts only where nothing remains: what else limits us has nothing to do with it.
    """
    if response.status_code not in (403, 422, 429):
        return None
    words = message(response).lower()
    scope = CONTENT if any(word in words for word in _CONTENT_WORDS) else EVERYTHING
    if response.status_code == 422:
        # creating content too fast comes as a validation error
        return Limit(scope, None) if _LIMIT_WORDS[-1] in words else None
    now = server_time(response) or now
    nothing_left = response.headers.get("x-ratelimit-remaining") == "0"
    if nothing_left:
        scope = resource_of(response, asked)
    if "retry-after" in response.headers:
        return Limit(scope, _wait(response.headers["retry-after"], now))
    if nothing_left:
        reset = response.headers.get("x-ratelimit-reset", "")
        return Limit(scope, _bounded(float(reset) - now.timestamp()) if reset.isdecimal() else None)
    if response.status_code == 429 or any(word in words for word in _LIMIT_WORDS):
        return Limit(scope, None)
    return None


def left(response: httpx.Response, now: datetime, asked: str = CORE) -> Left | None:
    """What an answer says is left, its reset by our clock; None where it says nothing."""
    headers = response.headers
    ceiling, remaining = headers.get("x-ratelimit-limit", ""), headers.get("x-ratelimit-remaining", "")
    if not (ceiling.isdecimal() and remaining.isdecimal()):
        return None
    reset = headers.get("x-ratelimit-reset", "")
    wait = _bounded(float(reset) - (server_time(response) or now).timestamp()) if reset.isdecimal() else None
    reset_at = None if wait is None else now + timedelta(seconds=wait)
    return Left(resource_of(response, asked), min(int(ceiling), _MOST), min(int(remaining), _MOST), reset_at)


def resource_of(response: httpx.Response, asked: str = CORE) -> str:
    """What the call counts for, as GitHub names it; `asked` where it does not."""
    named = str(response.headers.get("x-ratelimit-resource", ""))
    return named if _RESOURCE.fullmatch(named) else asked


def resource(path: str) -> str:
    """What a call will count for, by its path. Of GitHub's resources these are all that are asked here."""
    return "graphql" if path.endswith("/graphql") else CORE


def server_time(response: httpx.Response) -> datetime | None:
    """The other side's clock, from `Date`."""
    return _date(response.headers.get("date"))


def message(response: httpx.Response) -> str:
    """GitHub's words for an error, with the details of a validation error; empty where there are none."""
    try:
        body: Any = response.json()
    except ValueError:
        return ""
    if not isinstance(body, dict) or not isinstance(body.get("message"), str):
        return ""
    details = body.get("errors")
    texts = [text for item in details if (text := _detail(item))] if isinstance(details, list) else []
    return (str(body["message"]) + (f" ({'; '.join(texts)})" if texts else ""))[:500]


def _detail(item: Any) -> str:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        return ""
    if isinstance(item.get("message"), str):
        return str(item["message"])
    return " ".join(str(item[key]) for key in ("resource", "field", "code") if item.get(key))


def _wait(value: str | None, now: datetime) -> float | None:
    """Seconds from a `Retry-After`, which is a number or a date; a date in the past is no wait."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return _bounded(float(value))
    at = _date(value)
    return None if at is None else _bounded((at - now).total_seconds())


def _bounded(seconds: float) -> float:
    return min(max(0.0, seconds), _LONGEST_WAIT)


def _date(value: str | None) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(value) if value else None
    except ValueError:
        return None
    if parsed is None:
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
