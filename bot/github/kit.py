"""githubkit, narrowed to what is wanted from it; imported by `wire` at the first request.

Off: its repeats (it repeats a POST after a 5xx, which doubles comments), its HTTP cache (unbounded), its redirects (a
redirected POST becomes a GET), its reading of rate limits (a date in `Retry-After` is a ValueError to it), and its
models. Left: the client, its base URL, its cap of 100 concurrent requests, and its errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import httpx
from githubkit import GitHubCore, Response, UnauthAuthStrategy
from githubkit.exception import RequestError, RequestFailed

from bot.github.pool import pooled


class Kit(GitHubCore[UnauthAuthStrategy]):
    """One client for every task of the process.

    githubkit keeps an entered client in a `ContextVar`, which no other task sees: each would open a pool of its own
    for every request. Here the client is made once and lent.
    """

    def __init__(self, base_url: str, transport: httpx.AsyncBaseTransport | None, timeout: float, agent: str) -> None:
        super().__init__(
            UnauthAuthStrategy(),
            base_url=base_url,
            user_agent=agent,
            follow_redirects=False,
            timeout=timeout,
            async_transport=transport or pooled(),
            http_cache=False,
            auto_retry=False,
        )
        self._lent: httpx.AsyncClient | None = None

    @contextlib.asynccontextmanager
    async def get_async_client(self) -> AsyncGenerator[httpx.AsyncClient, None]:
        """Lend the client; it stays open."""
        if self._lent is None:
            # nothing is awaited inside while the HTTP cache is off, so two tasks cannot both get here
            self._lent = await self._create_async_client()
        yield self._lent

    def _check_rate_limit(self, response: Response[Any]) -> None:
        """Nothing: `bot.github.retry` reads the headers."""

    async def exchange(self, method: str, url: str, **content: Any) -> httpx.Response:
        """Send once and return whatever came back. Raises what httpx raised where nothing did."""
        try:
            response = await self.arequest(method, url, **content)
        except RequestFailed as error:
            return error.response.raw_response
        except RequestError as error:
            cause: Exception = error.exc
            raise cause from None
        return response.raw_response

    async def aclose(self) -> None:
        """Close the connections."""
        if self._lent is not None:
            await self._lent.aclose()
            self._lent = None
