"""One request and its answer: repeats, time limit, redirects, and the count of what was asked."""

from __future__ import annotations

import asyncio
import importlib
import re
from collections import Counter
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx

from bot.errors import NotFound, Transient
from bot.github import refusal, retry
from bot.github.download import Download, Hosts, download
from bot.model.clock import Clock

if TYPE_CHECKING:
    from bot.github.kit import Kit

_API_VERSION = "2022-11-28"
_REDIRECTS = frozenset({301, 302, 307, 308})
_MOST_REDIRECTS = 3
#: the part of a path that names the repository, by name or by id
_REPOSITORY = re.compile(r"/repos/[^/]+/[^/]+|/repositories/(?P<id>\d+)")


class Wire:
    """Every request of the process goes through one of these.

    `timeout` bounds each wait (connecting, sending, reading) in seconds; the whole exchange may take three times that.
    """

    def __init__(
        self, base_url: str, *, transport: httpx.AsyncBaseTransport | None, clock: Clock, timeout: float
    ) -> None:
        self.base_url = httpx.URL(base_url.rstrip("/"))
        self.clock = clock
        #: requests sent, repeats included, by kind: `issue`, `comments`, `token`, …
        self.requests: Counter[str] = Counter()
        self._transport = transport
        self._timeout = timeout
        self._kit: Kit | None = None
        self._opening = asyncio.Lock()

    async def aclose(self) -> None:
        """Close the connections; a later request opens them again."""
        kit, self._kit = self._kit, None
        if kit is not None:
            await kit.aclose()

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        authorization: str,
        kind: str,
        repository_id: int | None = None,
        repeat: bool | None = None,
        follow: bool = True,
        **content: Any,
    ) -> httpx.Response:
        """Send, and return any answer that repeating would not change, errors among them (see `retry.final`).

        `follow` off returns a redirect as it is. `repeat` says that sending twice does no harm; None means "if it is a
        GET". `content` is `params`, `json` and `headers`. `repository_id` is whose redirects may be followed. Raises
        `Transient`, `Unsure`, `NotFound`.
        """
        write = method != "GET" if repeat is None else not repeat
        what = f"{method} {path}"
        content["headers"] = {
            "Authorization": authorization,
            "X-GitHub-Api-Version": _API_VERSION,
            **content.get("headers", {}),
        }
        for pause in (*retry.BACKOFF, None):
            error: Transient | None
            try:
                if follow:
                    response = await self._redirected(method, path, kind, repository_id, content)
                else:
                    response = await self._once(method, path, kind, content)
            except (httpx.HTTPError, OSError) as cause:  # a TimeoutError is an OSError
                error = retry.broken(cause, write=write, what=what)
            else:
                error = retry.passing(response, self.clock.now(), write=write, what=what)
                if error is None:
                    return response
            if write or pause is None or error.limited or (error.retry_after or 0) > retry.BACKOFF[-1]:
                raise error
            await self.clock.sleep(pause)
        raise AssertionError("unreachable: the last pause is None")

    @property
    def graphql_url(self) -> str:
        """GraphQL's address: `https://api.github.com/graphql`, on GHES `https://HOST/api/graphql`."""
        base = str(self.base_url)
        return f"{base.removesuffix('/v3')}/graphql" if base.endswith("/api/v3") else f"{base}/graphql"

    async def download(self, url: httpx.URL, *, hosts: Hosts, kind: str, keep: int) -> Download:
        """A file from where GitHub pointed, without credentials (see `bot.github.download`).

        Raises NotFound, and Transient where nothing came in time.
        """
        kit = await self._open()
        self.requests[kind] += 1
        try:
            async with asyncio.timeout(self._timeout * 3), kit.get_async_client() as client:
                return await download(client, url, hosts=hosts, keep=keep)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as cause:
            raise retry.broken(cause, write=False, what=f"GET {url.host}") from None

    async def _redirected(
        self, method: str, path: str, kind: str, repository_id: int | None, content: dict[str, Any]
    ) -> httpx.Response:
        """Send, and again to where GitHub points, the same method and body.

        Source: https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects
        """
        url = path
        for _ in range(_MOST_REDIRECTS):
            response = await self._once(method, url, kind, content)
            if response.status_code not in _REDIRECTS:
                return response
            url = self._moved(path, response.headers.get("location", ""), repository_id)
            if "?" in url:
                # the new address has the query already
                content = {key: value for key, value in content.items() if key != "params"}
        raise NotFound(f"{method} {path}: redirected without end")

    async def _once(self, method: str, url: str, kind: str, content: dict[str, Any]) -> httpx.Response:
        kit = await self._open()
        self.requests[kind] += 1
        async with asyncio.timeout(self._timeout * 3):
            return await kit.exchange(method, url, **content)

    def _moved(self, path: str, location: str, repository_id: int | None) -> str:
        """Where a renamed repository answers now; `NotFound` for anywhere else.

        An issue that was transferred redirects too, but it is another thread: nothing is said there.
        """
        try:
            target = self.base_url.join(location)
        except httpx.InvalidURL:
            raise NotFound(f"{path}: moved to an address that cannot be read") from None
        base = self.base_url
        inside = target.path.removeprefix(base.path.rstrip("/"))
        old, new = _REPOSITORY.match(path), _REPOSITORY.match(inside)
        same_origin = (target.scheme, target.host, target.port) == (base.scheme, base.host, base.port)
        if not same_origin or old is None or new is None or unquote(path[old.end() :]) != inside[new.end() :]:
            raise NotFound(f"{path}: moved elsewhere", refusal.TRANSFERRED if same_origin else "")
        if repository_id is not None and new["id"] is not None and int(new["id"]) != repository_id:
            raise NotFound(f"{path}: moved to another repository", refusal.TRANSFERRED)
        return str(target)

    async def _open(self) -> Kit:
        if self._kit is None:
            async with self._opening:
                if self._kit is None:
                    # in a thread, so that the fifth of a second that the import takes stops nobody else
                    module = await asyncio.to_thread(importlib.import_module, "bot.github.kit")
                    agent = f"threadsmith/{version('threadsmith')}"
                    self._kit = module.Kit(str(self.base_url), self._transport, self._timeout, agent)
        return self._kit
