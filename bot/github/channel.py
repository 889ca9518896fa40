"""Requests below one repository, each with the token of its purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from bot.errors import Forbidden, NotFound, Transient, Unsure
from bot.github import retry
from bot.github.tokens import InstallationTokens, Purpose
from bot.github.wire import Wire
from bot.model.thread import Repository

T = TypeVar("T")


class Channel:
    """What `RepositoryClient` and the configuration are read and written through. Paths start after the repository."""

    def __init__(
        self, wire: Wire, tokens: InstallationTokens, installation_id: int, repository: Repository, app: str = ""
    ) -> None:
        self.wire = wire
        self.repository = repository
        self.installation_id = installation_id
        #: the App's number, None where it is known by its client id
        self.app_id = int(app) if app.isdecimal() else None
        self._tokens = tokens

    async def get(
        self,
        path: str,
        *,
        kind: str,
        params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
        purposes: Sequence[Purpose] = (Purpose.READ, Purpose.READ_PULL),
    ) -> httpx.Response:
        """GET with a token that only reads: the one for issues, where that is refused the one for pull requests too."""
        content: dict[str, Any] = {"headers": dict(headers or {})}
        if params:
            content["params"] = dict(params)
        return await self._first_that_may("GET", path, kind, purposes, content)

    async def pages(
        self,
        path: str,
        parser: Callable[[Any], Iterable[T]],
        *,
        kind: str,
        most: int,
        params: Mapping[str, str | int] | None = None,
        purposes: Sequence[Purpose] = (Purpose.READ, Purpose.READ_PULL),
    ) -> tuple[T, ...]:
        """A listing in its order, `most` pages of a hundred; `parser` reads the rows of one page."""
        found: list[T] = []
        for page in range(1, most + 1):
            query = {**(params or {}), "per_page": 100, "page": page}
            response = await self.get(path, kind=kind, params=query, purposes=purposes)
            found += read(response, parser)
            if "next" not in response.links:
                break
        return tuple(found)

    async def location(self, path: str, *, kind: str, purpose: Purpose) -> httpx.URL:
        """Where a GET redirects to, unfollowed: a file elsewhere, to which our token must not go."""
        response = await self._send("GET", path, kind, purpose, {"follow": False})
        if "location" not in response.headers:
            raise Transient(f"GET {path}: no redirect")
        return response.request.url.join(response.headers["location"])

    async def query(
        self,
        text: str,
        parser: Callable[[Any], T],
        *,
        kind: str,
        purpose: Purpose = Purpose.READ_PULL,
        **variables: str | int | None,
    ) -> T:
        """What a GraphQL query that only reads gives as `data`, parsed, with the token for pull requests or another.

        `owner` and `name` are those of the repository. Raises Forbidden where GitHub refuses a part of it, NotFound
        for a thread that is not there or a server without GraphQL.
        Source: https://docs.github.com/en/graphql/guides/forming-calls-with-graphql
        """
        repository = self.repository
        names = {"owner": repository.owner.login, "name": repository.name}
        json = {"query": text, "variables": {**names, **variables}}
        content = {"json": json, "repeat": True}
        response = await self._graphql(kind, purpose, content)
        try:
            return parser(_data(response.json()))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise Transient("GraphQL: the answer cannot be read") from None

    async def mutate(self, text: str, *, kind: str, variables: Mapping[str, str]) -> None:
        """A GraphQL mutation, with the token that posts in pull requests; sent once. Raises as `query`, and Unsure."""
        content = {"json": {"query": text, "variables": dict(variables)}}
        response = await self._graphql(kind, Purpose.POST_PULL, content)
        try:
            _data(response.json())
        except (ValueError, TypeError, KeyError, AttributeError):
            raise Unsure("GraphQL: the answer cannot be read") from None

    async def write(
        self,
        method: str,
        path: str,
        *,
        kind: str,
        json: Mapping[str, Any] | None,
        pull_request: bool = False,
        purpose: Purpose | None = None,
    ) -> httpx.Response:
        """POST, PATCH or DELETE in a thread, or for the purpose named; sent once.

        `pull_request` only saves a request: where the token for issues is refused, the one for pull requests is tried.
        """
        content: dict[str, Any] = {} if json is None else {"json": dict(json)}
        purposes = (Purpose.POST_PULL,) if pull_request else (Purpose.POST, Purpose.POST_PULL)
        purposes = purposes if purpose is None else (purpose,)
        return await self._first_that_may(method, path, kind, purposes, content)

    async def _graphql(self, kind: str, purpose: Purpose, content: Mapping[str, Any]) -> httpx.Response:
        """The answer, which is 200 for a limit too."""
        sent = self.wire.clock.now()
        response = await self._exchange("POST", self.wire.graphql_url, kind, purpose, content)
        if _is_limited(response):
            known = retry.left(response, self.wire.clock.now(), "graphql")
            wait = None
            if known is not None and known.remaining == 0 and known.reset_at is not None:
                wait = (known.reset_at - self.wire.clock.now()).total_seconds()
            limit = retry.Limit(retry.resource_of(response, "graphql"), wait)
            raise await self.wire.limited(response, self.installation_id, limit, sent, what="GraphQL")
        return response

    async def _first_that_may(
        self, method: str, path: str, kind: str, purposes: Sequence[Purpose], content: Mapping[str, Any]
    ) -> httpx.Response:
        for purpose in purposes[:-1]:
            try:
                return await self._send(method, path, kind, purpose, content)
            except Forbidden as error:
                # GitHub's words for a token that lacks the permission; nothing was done
                if error.status != 403 or "not accessible by integration" not in str(error):
                    raise
        return await self._send(method, path, kind, purposes[-1], content)

    async def token(self, purpose: Purpose, *, refused: str = "") -> str:
        """A token for use outside the REST API; never again one that was `refused` there."""
        if refused:
            self._tokens.drop(self.installation_id, self.repository.id, purpose, refused)
        return await self._tokens.get(self.installation_id, self.repository.id, purpose)

    async def _send(
        self, method: str, path: str, kind: str, purpose: Purpose, content: Mapping[str, Any]
    ) -> httpx.Response:
        url = f"/repos/{quote(self.repository.owner.login, safe='')}/{quote(self.repository.name, safe='')}{path}"
        return await self._exchange(method, url, kind, purpose, content)

    async def _exchange(
        self, method: str, url: str, kind: str, purpose: Purpose, content: Mapping[str, Any]
    ) -> httpx.Response:
        # before a token is asked for, which would be of no use
        await self.wire.may_ask(self.installation_id, url, what=f"{method} {url}")
        for _ in range(2):
            token = await self.token(purpose)
            response = await self.wire.exchange(
                method,
                url,
                authorization=f"token {token}",
                kind=kind,
                installation_id=self.installation_id,
                repository_id=self.repository.id,
                **content,
            )
            if response.status_code != 401:
                break
            # refused before anything was done: with a new token, even a write may be sent again
            self._tokens.drop(self.installation_id, self.repository.id, purpose, token)
        error = retry.final(response, what=f"{method} {url}")
        if error is not None:
            raise error
        return response


def read(response: httpx.Response, parser: Callable[[Any], T]) -> T:
    """Parse an answer's JSON; Transient where it is not what it should be (a proxy's page, a truncated body).

    After a write it is Unsure: the server said yes, so it was probably done.
    """
    try:
        return parser(response.json())
    except (ValueError, TypeError, KeyError, AttributeError):
        text = f"{response.request.method} {response.request.url.path}: the answer cannot be read"
        raise (Transient if response.request.method == "GET" else Unsure)(text) from None


def last_page(response: httpx.Response, otherwise: int) -> int:
    """The number of the last page from `Link`, which has no `last` on the last page itself."""
    link = response.links.get("last", {}).get("url", "")
    try:
        number = httpx.URL(link).params.get("page", "")
    except httpx.InvalidURL:
        return otherwise
    return int(number) if number.isdecimal() else otherwise


def rows(parser: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    """A parser of lists. Raises ValueError for anything else."""

    def parsed(body: Any) -> tuple[T, ...]:
        if not isinstance(body, list):
            raise ValueError("not a list")
        return tuple(map(parser, body))

    return parsed


def _is_limited(response: httpx.Response) -> bool:
    """Whether a GraphQL answer says that there is nothing left.

    Source: https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
    """
    try:
        return bool(response.json()["errors"][0]["type"] == "RATE_LIMITED")
    except (ValueError, TypeError, KeyError, IndexError):
        return False


def _data(body: Any) -> Any:
    """`data` of a GraphQL answer, which is 200 for refusals too. Raises NotFound and Forbidden as its `errors` say."""
    if not (errors := body.get("errors")):
        return body["data"]
    first = errors[0]
    text = f"GraphQL: {str(first.get('message', ''))[:300]}"
    match first.get("type"):
        case "NOT_FOUND":
            raise NotFound(text)
        case _:
            raise Forbidden(text)
