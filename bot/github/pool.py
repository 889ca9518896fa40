"""Connections to GitHub that are kept open, and looked at cheaply.

httpcore looks at every idle connection whenever a request begins or ends, twice for each request: whether GitHub has
closed it. Through anyio the socket is found anew each time, which took a third of what a request costs the processor.
"""

from __future__ import annotations

import select
from collections.abc import Iterable
from ssl import SSLContext
from typing import Any
from urllib.request import getproxies

import httpcore
import httpx

#: as httpx has them: connections at most, and of them those that stay open with nothing to do, for so many seconds
MOST, IDLE, IDLE_SECONDS = 100, 20, 5.0


def pooled() -> httpx.AsyncBaseTransport | None:
    """What requests go over; None where they go over a proxy of the environment, which is httpx's to find."""
    return None if getproxies() else Pooled()


class Pooled(httpx.AsyncHTTPTransport):
    """httpx's transport with a pool of our own making: it takes no network backend."""

    def __init__(self) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=MOST,
            max_keepalive_connections=IDLE,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=Backend(),
        )


class Backend(httpcore.AnyIOBackend):
    """anyio's connections, each with its socket at hand."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """As httpcore's."""
        return Stream(await super().connect_tcp(host, port, timeout, local_address, socket_options))


class Stream(httpcore.AsyncNetworkStream):
    """One connection. All that is asked of it goes to the one inside, but whether there is something to read."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self._socket = inner.get_extra_info("socket")
        self.read, self.write, self.aclose = inner.read, inner.write, inner.aclose  # type: ignore[method-assign]

    async def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """As httpcore's."""
        return Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """As httpcore's."""
        return _is_readable(self._socket) if info == "is_readable" else self._inner.get_extra_info(info)


def _is_readable(socket: Any) -> bool:
    """Whether reading would return at once: of a connection with nothing to do it means that the other end is gone."""
    number = socket.fileno()
    if number < 0:  # it is closed
        return True
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))
