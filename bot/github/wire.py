"""One request and its answer: repeats, time limit, redirects, and the count of what was asked."""

from __future__ import annotations

import asyncio
import importlib
import re
from collections import Counter
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx

from bot import log
from bot.errors import NotFound, Transient
from bot.github import refusal, retry
from bot.github.breaker import Breaker
from bot.github.download import Download, Hosts, download
from bot.model.allowance import Allowances, OwnAllowances
from bot.model.clock import Clock

if TYPE_CHECKING:
    from bot.github.kit import Kit

_log = log.get("github")

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
        self,
        base_url: str,
        *,
        transport: httpx.AsyncBaseTransport | None,
        clock: Clock,
        timeout: float,
        allowances: Allowances | None = None,
    ) -> None:
        self.base_url = httpx.URL(base_url.rstrip("/"))
        self.clock = clock
        self.allowances: Allowances = allowances or OwnAllowances()
        self.breaker = Breaker(clock)
        #: requests sent, repeats included, by kind: `issue`, `comments`, `token`, …
        self.requests: Counter[str] = Counter()
        #: the same by kind and status; one without an answer has the name of what it met
        self.answers: Counter[tuple[str, str]] = Counter()
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
        installation_id: int = 0,
        repository_id: int | None = None,
        repeat: bool | None = None,
        follow: bool = True,
        **content: Any,
    ) -> httpx.Response:
        """Send, and return any answer that repeating would not change, errors among them (see `retry.final`).

        `follow` off returns a redirect as it is. `repeat` says that sending twice does no harm; None means "if it is a
        GET". `content` is `params`, `json` and `headers`. `installation_id` is whose limits hold, 0 for the App's own;
        `repository_id` whose redirects may be followed. Raises `Transient`, `Unsure`, `NotFound`; `Transient` before
        anything is sent where a limit is known or GitHub is away.
        """
        write = method != "GET" if repeat is None else not repeat
        what = f"{method} {path}"
        content["headers"] = {
            "Authorization": authorization,
            "X-GitHub-Api-Version": _API_VERSION,
            **content.get("headers", {}),
        }
        for pause in (*retry.BACKOFF, None):
            await self.may_ask(installation_id, path, what=what)
            if (away := self.breaker.ask(kind)) > 0:
                raise self._away(what, away)
            error: Transient | None
            sent = self.clock.now()
            try:
                if follow:
                    response = await self._redirected(method, path, kind, repository_id, content)
                else:
                    response = await self._once(method, path, kind, content)
            except (httpx.HTTPError, OSError) as cause:  # a TimeoutError is an OSError
                error = retry.broken(cause, write=write, what=what)
                self._failed(kind, type(cause).__name__, unreachable=True)
            else:
                error = await self._told(response, path, installation_id, sent, write=write, what=what, kind=kind)
                if error is None:
                    return response
            if write or pause is None or error.limited or (error.retry_after or 0) > retry.BACKOFF[-1]:
                raise error
            await self.clock.sleep(pause)
        raise AssertionError("unreachable: the last pause is None")

    async def may_ask(self, installation_id: int, path: str, *, what: str) -> None:
        """Raise `Transient` where a limit is known that forbids a request now."""
        now = self.clock.now()
        until = await self.allowances.until(installation_id, retry.resource(path), now)
        if until is not None:
            raise retry.limited((until - now).total_seconds(), what=what)

    async def limited(
        self, response: httpx.Response, installation_id: int, limit: retry.Limit, sent: datetime, *, what: str
    ) -> Transient:
        """Tell every process of a limit; the error that says so here."""
        if limit.resource == retry.CONTENT:  # reads go on; the pace of what is posted holds the rest back
            return retry.limited(limit.seconds, what=what)
        wait = await self.allowances.limited(installation_id, limit.resource, limit.wait, sent, self.clock.now())
        _log.warning(
            "limited",
            installation=installation_id,
            resource=limit.resource,
            seconds=round(wait),
            status=response.status_code,
            what=what,
        )
        return retry.limited(wait, what=what)

    async def _told(
        self,
        response: httpx.Response,
        path: str,
        installation_id: int,
        sent: datetime,
        *,
        write: bool,
        what: str,
        kind: str,
    ) -> Transient | None:
        """What an answer means for this request, and what all others learn from it."""
        now, asked = self.clock.now(), retry.resource(path)
        limit = retry.limit_of(response, now, asked)
        if limit is not None:
            self._answered()
            return await self.limited(response, installation_id, limit, sent, what=what)
        error = retry.passing(response, now, write=write, what=what)
        if error is not None:
            self._failed(kind, str(response.status_code), unreachable=False)
            return error
        self._answered()
        self.allowances.seen(installation_id, retry.left(response, now, asked), sent, now)
        return None

    def _away(self, what: str, seconds: float) -> Transient:
        return Transient(f"{what}: GitHub does not answer ({self.breaker.reason})", seconds)

    def _failed(self, kind: str, reason: str, *, unreachable: bool) -> None:
        if self.breaker.failed(kind, reason, unreachable=unreachable):
            _log.warning("github_away", reason=reason)

    def _answered(self) -> None:
        since = self.breaker.since
        if self.breaker.answered() and since is not None:
            _log.info("github_back", seconds=round((self.clock.now() - since).total_seconds()))

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
        try:
            async with asyncio.timeout(self._timeout * 3):
                response = await kit.exchange(method, url, **content)
        except Exception as cause:
            self.answers[kind, type(cause).__name__] += 1
            raise
        self.answers[kind, str(response.status_code)] += 1
        return response

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
