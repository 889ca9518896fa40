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

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from bot.errors import BotError, Forbidden, NotFound, Transient, Unsure
from bot.github import refusal

#: seconds before each repeat
BACKOFF = (0.5, 1.0, 2.0)
#: what GitHub asks for where a secondary limit has no header
SECONDARY_WAIT = 60.0
#: no header makes us wait longer than this, whatever it says
_LONGEST_WAIT = 86_400.0

#: raised before a byte of the request can have left
_UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_LIMIT_WORDS = ("rate limit", "abuse detection", "submitted too quickly")


def broken(cause: Exception, *, write: bool, what: str) -> Transient:
    """The error for an exchange that ended without an answer. Only the kind of `cause` is quoted: it may hold a URL."""
    text = f"{what}: {type(cause).__name__}"
    if write and not isinstance(cause, _UNSENT):
        return Unsure(text)
    return Transient(text)


def passing(response: httpx.Response, now: datetime, *, write: bool, what: str) -> Transient | None:
    """The error for an answer that says "later": a rate limit, or a fault of the server's. None for every other."""
    wait = limit(response, now)
    if wait is not None:
        return Transient(f"{what}: rate limit, {wait:.0f} s", wait, limited=True)
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


def limit(response: httpx.Response, now: datetime) -> float | None:
    """Seconds until a limited call may be tried again; None where the answer is no rate limit.

    `now` is used only where the answer has no `Date`: GitHub's clock decides, ours may be minutes off.
    """
    if response.status_code not in (403, 422, 429):
        return None
    words = message(response).lower()
    if response.status_code == 422:
        # creating content too fast comes as a validation error
        return SECONDARY_WAIT if _LIMIT_WORDS[-1] in words else None
    now = server_time(response) or now
    if "retry-after" in response.headers:
        wait = _wait(response.headers["retry-after"], now)
        return SECONDARY_WAIT if wait is None else wait
    if response.headers.get("x-ratelimit-remaining") == "0":
        reset = response.headers.get("x-ratelimit-reset", "")
        return _bounded(float(reset) - now.timestamp()) if reset.isdecimal() else SECONDARY_WAIT
    if response.status_code == 429 or any(word in words for word in _LIMIT_WORDS):
        return SECONDARY_WAIT
    return None


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
