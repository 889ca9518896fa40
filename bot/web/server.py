"""The HTTP server around the application."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from bot.errors import OperatorError
from bot.model.clock import monotonic

#: seconds that a connection may take for the headers of a request; a proxy in front of it has them in a moment
PATIENCE = 10.0
#: connections at once; each may hold as much of a body as arrives in one piece, 256 KiB
CONNECTIONS = 256
#: seconds for which a connection that was just made, or just answered, gives way to no other: its request may be on the
#: way, and a sender whose connection is closed then takes it for lost
MOMENT = 1.0
#: times `CONNECTIONS` over which even those give way: a process may have 1,024 files open, as a rule
CROWD = 3
#: what can be done where a port cannot be had, unless it was set otherwise
MEND = "set BOT_HOST and BOT_PORT to what is free here"

_UVICORN = logging.getLogger("uvicorn.error")


def configured(app: ASGIApp, host: str, port: int) -> uvicorn.Config:
    """How the product is served."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan="off",
        log_config=None,
        access_log=False,
        # deliveries that are not answered by then are GitHub's to send again; ours to look for in its log
        timeout_graceful_shutdown=2,
        # a forwarding header is believed from nobody: signatures, not addresses, decide here
        proxy_headers=False,
        server_header=False,
    )


class Server(uvicorn.Server):
    """Says when it listens, and leaves signals to `serve`: uvicorn sends them again before the bot has ended.

    A connection without a request under way (its headers do not end, or it still sends a body that was refused) is
    closed after `patience` seconds, and sooner, the oldest first, where there are more than `most`: uvicorn has a time
    limit for the pause between two requests only. None is closed within its first `moment` seconds, unless there are
    `CROWD` times as many.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        listens: Callable[[int], None],
        *,
        patience: float = PATIENCE,
        most: int = CONNECTIONS,
        moment: float = MOMENT,
        mend: str = MEND,
    ) -> None:
        super().__init__(config)
        self._listens = listens
        self._mend = mend
        self._patience, self._most, self._moment = patience, most, moment
        #: what asks nothing, with its last request and since when
        self._idle: dict[Any, tuple[object, float]] = {}

    async def on_tick(self, counter: int) -> bool:
        self._sweep()
        return await super().on_tick(counter)

    def _sweep(self) -> None:
        now, idle = monotonic(), {}
        one: Any
        for one in self.server_state.connections:
            last = one.cycle
            if last is None or last.response_complete:
                known = self._idle.get(one)
                idle[one] = known if known is not None and known[0] is last else (last, now)
        self._idle = idle
        many = len(self.server_state.connections)
        over, crowded = many - self._most, many - CROWD * self._most
        for place, (one, (_, since)) in enumerate(sorted(idle.items(), key=lambda item: item[1][1])):
            age = now - since
            if place < crowded or (place < over and age > self._moment) or age > self._patience:
                one.transport.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # what uvicorn logs of it is told below, in words
        _UVICORN.addFilter(_is_no_error)
        try:
            await super().startup(sockets)
        except SystemExit as error:  # uvicorn's way
            at = f"{self.config.host}:{self.config.port}"
            raise OperatorError(f"cannot listen on {at}{_why(error.__context__)}", self._mend) from error
        finally:
            _UVICORN.removeFilter(_is_no_error)
        self._listens(self.servers[0].sockets[0].getsockname()[1])


def _is_no_error(record: logging.LogRecord) -> bool:
    return record.levelno < logging.ERROR


def _why(error: BaseException | None) -> str:
    # a name that nobody knows has a number below 0, and several addresses that cannot be had have none
    number = error.errno if isinstance(error, OSError) else None
    return f": {os.strerror(number)}" if number is not None and number > 0 else ""
