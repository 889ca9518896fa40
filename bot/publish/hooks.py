"""Outgoing webhooks: sent once. One that may have arrived is not sent again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from bot.errors import Transient, Unsure, UserError
from bot.publish.performer import Act, Made, Performer, Undone

#: seconds for each wait: connecting, sending, reading
TIMEOUT = 20.0
#: how often one is tried that surely did not arrive
TRIES = 6
_USER_AGENT = "threadsmith"
#: raised before a byte of the request can have left
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a webhook goes. Both may hold secrets: neither is shown, logged or kept."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


#: gives a resource's target when it is needed; raises UserError where the resource or one of its secrets is missing
Resolve = Callable[[Act, str], Awaitable[Target]]


class Hooks:
    """Sends to `resources` of the repository's configuration, as `resolve` finds them at that moment.

    A redirect is not followed: the headers would go elsewhere.
    """

    def __init__(
        self,
        resolve: Resolve,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._resolve = resolve
        self._transport = transport
        self._timeout = timeout

    @property
    def performers(self) -> Mapping[str, Performer]:
        """By kind of intent: neither found nor repeated."""
        return {"webhook": Performer(self._send)}

    async def _send(self, act: Act) -> Made:
        resource = str(act.payload["resource"])
        try:
            target = await self._resolve(act, resource)
        except UserError as error:
            raise Undone(f"{error.code}: {error.message}") from None
        content, kind = _body(act.payload.get("body"))
        headers = {"Content-Type": kind, "User-Agent": _USER_AGENT, **target.headers}
        try:
            url = httpx.URL(target.url)
            if url.scheme not in ("http", "https") or not url.host:
                raise ValueError("no address of the web")
            async with httpx.AsyncClient(
                transport=self._transport, timeout=self._timeout, trust_env=False, follow_redirects=False
            ) as client:
                response = await client.post(url, content=content, headers=headers)
        except (httpx.InvalidURL, ValueError):
            raise Undone(f"the address or a header of `{resource}` cannot be used") from None
        except _UNSENT as error:
            raise self._later(act, f"`{resource}` cannot be reached ({type(error).__name__})") from None
        except (httpx.HTTPError, OSError) as error:
            raise Unsure(f"`{resource}` gave no answer ({type(error).__name__})") from None
        return self._judge(act, resource, response)

    def _judge(self, act: Act, resource: str, response: httpx.Response) -> Made:
        status = response.status_code
        if 200 <= status < 300:
            return Made({"resource": resource, "status": status})
        if status == 429:  # refused before anything was done
            after = response.headers.get("retry-after", "")
            raise self._later(
                act, f"`{resource}` limits its callers", float(after) if after.isdecimal() and len(after) < 6 else None
            )
        if status >= 500:
            # it was taken in, and nobody knows how far it got
            raise Unsure(f"`{resource}` answered {status}")
        raise Undone(f"`{resource}` answered {status}", {"resource": resource, "status": status})

    def _later(self, act: Act, reason: str, after: float | None = None) -> Transient | Undone:
        if act.row.tries >= TRIES:
            return Undone(f"{reason}, {act.row.tries} times")
        return Transient(reason, after)


def _body(body: Any) -> tuple[bytes, str]:
    """The bytes and their kind: text that is JSON goes as it is, any other as text, everything else as JSON."""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    kind = "application/json"
    if isinstance(body, str):
        try:
            json.loads(body)
        except ValueError:
            kind = "text/plain; charset=utf-8"
    return text.encode("utf-8", "replace"), kind
