"""The HTTP server around the application."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from bot.errors import OperatorError


class Server(uvicorn.Server):
    """Says when it listens, and leaves signals to `serve`: uvicorn sends them again before the bot has ended."""

    def __init__(self, config: uvicorn.Config, listens: Callable[[int], None]) -> None:
        super().__init__(config)
        self._listens = listens

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit as error:  # uvicorn's way, after it logged why
            at = f"{self.config.host}:{self.config.port}"
            raise OperatorError(f"cannot listen on {at}", "set BOT_HOST and BOT_PORT to what is free here") from error
        self._listens(self.servers[0].sockets[0].getsockname()[1])
