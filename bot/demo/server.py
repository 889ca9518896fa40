"""The look-alike as one ASGI application, and servers on loopback ports for it and for others."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.demo.faults import ReplyLost
from bot.demo.gitserver import GitServer, matches
from bot.demo.page.routes import Page, Saw
from bot.demo.rest.app import Rest
from bot.demo.rest.routes import FIRST_WORDS
from bot.demo.storage import FIRST_WORDS as STORED
from bot.demo.world import World


def lookalike(world: World, *, saw: Saw | None = None, personas: tuple[str, ...] = ()) -> ASGIApp:
    """REST below `/api/v3` (and at the root, for clients that know no prefix), git below `/{owner}/{repo}.git/`, pages.

    `saw` tells what the bot saw for a comment of its own; `personas` are the logins that the page may write as
    (default: every person there is).
    """
    rest, git, page = Rest(world), GitServer(world), Page(world, saw=saw, personas=personas)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            first = scope["path"].split("/", 2)[1]
            if first in STORED:
                await world.store(scope, receive, send)
            elif first in FIRST_WORDS or scope["path"].startswith(("/api/v3/", "/api/graphql")):
                await rest(scope, receive, send)
            elif matches(scope["path"]):
                await git(scope, receive, send)
            else:
                await page(scope, receive, send)

    return app


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


class LookAlikeServer:
    """Serves a world on a loopback port while it is entered; the world's addresses then lead there. See `Loopback`."""

    def __init__(self, world: World, *, port: int = 0, saw: Saw | None = None, personas: tuple[str, ...] = ()) -> None:
        self.world = world
        self._app = lookalike(world, saw=saw, personas=personas)
        self._served = Loopback(self._loses_replies, port=port)

    @property
    def url(self) -> str:
        """Where it is: pages and git."""
        return self.world.site_url

    @property
    def api_url(self) -> str:
        """Its REST base."""
        return self.world.api_url

    async def __aenter__(self) -> LookAlikeServer:
        await self._served.__aenter__()
        self.world.move_to(self._served.url)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.world.feed.close()
        await self._served.__aexit__(kind, error, at)

    async def _loses_replies(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ReplyLost:
            # an answer that promises a byte and ends without it: the client sees the connection break
            start: Message = {"type": "http.response.start", "status": 502, "headers": [(b"content-length", b"1")]}
            await send(start)


class Loopback:
    """Serves an ASGI application on a loopback port while it is entered, in the event loop that enters it.

    `port` 0 takes a free one. Raises OSError where the port is taken. With `dated` false the application says itself
    what time it is.
    """

    def __init__(self, app: ASGIApp, *, port: int = 0, dated: bool = True) -> None:
        self._app = app
        self._port = port
        self._dated = dated
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Its address; known once it is entered."""
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Loopback:
        listening = socket.create_server(("127.0.0.1", self._port))
        self._port = listening.getsockname()[1]
        config = uvicorn.Config(
            self._app, interface="asgi3", log_config=None, log_level="error", access_log=False,
            lifespan="off", timeout_graceful_shutdown=2, server_header=False, date_header=self._dated,
        )  # fmt: skip
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve([listening]))
        ready = asyncio.create_task(self._server.ready.wait())
        await asyncio.wait({ready, self._serving}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await self._serving  # tells why it ended
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server is not None
        assert self._serving is not None
        self._server.should_exit = True
        await self._serving


class _Server(uvicorn.Server):
    """Leaves the process's signals alone: whoever runs the event loop decides about them."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
