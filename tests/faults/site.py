"""The look-alike of an episode on a loopback port, with the edges of a write at which a bot may die.

| edge       | the write                                                        |
|------------|------------------------------------------------------------------|
| `leaving`  | left the bot and was never done                                  |
| `done`     | was done, and the answer was never read                          |
| `answered` | was done and answered, and maybe not recorded                    |
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Literal

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from bot.demo.faults import ReplyLost
from bot.demo.server import Loopback, lookalike
from bot.demo.world import World

WriteEdge = Literal["leaving", "done", "answered"]
EDGES: tuple[WriteEdge, ...] = ("leaving", "done", "answered")
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Site:
    """Serves a world. `kill` ends the bot whose connection has this port on its side, and returns when it has ended."""

    def __init__(self, world: World, kill: Callable[[int], Awaitable[None]]) -> None:
        self.world = world
        self._app = lookalike(world)
        self._kill = kill
        self._served = Loopback(self, dated=False)
        #: the edge at which the `nth` write from now on ends its bot
        self._armed: WriteEdge | None = None
        #: the last write that ended one: its edge, method and path
        self.last = ""
        self._nth = 0

    def arm(self, edge: WriteEdge, nth: int) -> None:
        self._armed, self._nth = edge, nth

    def disarm(self) -> None:
        self._armed = None

    async def __aenter__(self) -> Site:
        await self._served.__aenter__()
        self.world.move_to(self._served.url)
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.world.feed.close()
        await self._served.__aexit__(None, None, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        edge = self._taken(scope)
        if edge == "leaving":
            await self._end(scope, send)
            return
        heard: Send = _swallow if edge == "done" else self._dated(send)
        try:
            await self._app(scope, receive, heard)
        except ClientDisconnect:  # it died while it wrote to us
            return
        except ReplyLost:
            if edge is None:
                # an answer that promises a byte and ends without it: the client sees the connection break
                broken = [(b"content-length", b"1")]
                await send({"type": "http.response.start", "status": 502, "headers": broken})
                return
        if edge is not None:
            await self._end(scope, send if edge == "done" else _swallow)

    def _taken(self, scope: Scope) -> WriteEdge | None:
        """The edge that this request is at."""
        path = scope["path"]
        write = scope["method"] in _WRITES and path.startswith("/api/v3/") and not path.endswith("/access_tokens")
        if self._armed is None or not write:
            return None
        self._nth -= 1
        if self._nth > 0:
            return None
        edge, self._armed = self._armed, None
        self.last = f"{edge} {scope['method']} {scope['path']}"
        return edge

    async def _end(self, scope: Scope, send: Send) -> None:
        await self._kill(scope["client"][1])
        await send({"type": "http.response.start", "status": 502, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    def _dated(self, send: Send) -> Send:
        """Answers have the world's time, which may go faster than the machine's."""

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                at = format_datetime(self.world.now(), usegmt=True).encode()
                message = {**message, "headers": [*message.get("headers", ()), (b"date", at)]}
            await send(message)

        return dated


async def _swallow(_message: Message) -> None:
    return


def process_of(port: int, pids: list[int]) -> int | None:
    """Which of these processes has a connection to us from this port of its own; None where it has gone."""
    wanted = f":{port:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[1].endswith(wanted) and words[9] != "0":
            link = f"socket:[{words[9]}]"
            for pid in pids:
                try:
                    if any(str(one.readlink()) == link for one in Path(f"/proc/{pid}/fd").iterdir()):
                        return pid
                except OSError:  # it ended, or a file of it was closed, while we looked
                    continue
    return None


class Weather:
    """Faults that come and go while bots live and die; each is over after one request or some seconds."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        self._faults: tuple[Callable[[], object], ...] = (
            lambda: world.faults.lose_reply("POST", ".*/comments"),
            lambda: world.faults.lose_reply("POST|PATCH|DELETE", ".*/issues/.*"),
            lambda: world.faults.broken(502, "POST", ".*/comments", performed=True),
            lambda: world.faults.broken(503, "POST|PATCH|DELETE", ".*/(issues|pulls|check-runs).*"),
            lambda: world.faults.broken(500, "GET", count=3),
            lambda: world.faults.secondary_limit("POST|PATCH|DELETE", ".*/(issues|pulls|check-runs).*"),
            lambda: world.faults.limited(5, "POST|PATCH|DELETE", ".*/(issues|pulls|check-runs).*"),
            lambda: world.faults.limited(self._in(20), "POST|PATCH|DELETE", ".*/(issues|pulls|check-runs).*"),
            lambda: world.faults.limited(self._in(-3600), "POST", ".*/comments"),
            lambda: world.faults.limited(3, "GET", ".*/(issues|permission).*", status=403),
            lambda: world.faults.slow(4, ".*", ".*/(issues|pulls|check-runs).*", count=2),
            lambda: world.faults.trickle(4, ".*", ".*/(issues|pulls|permission|git).*", count=2),
            lambda: world.faults.stale_listing(30),
            world.tokens.clear,
            lambda: world.faults.refused(403, "GET", ".*/collaborators/sam/.*", message="Must have push access."),
            lambda: world.faults.refused(401, "POST", ".*/comments", count=2, message="Bad credentials"),
        )

    def _in(self, seconds: float) -> datetime:
        return self._world.now() + timedelta(seconds=seconds)

    def change(self) -> None:
        """Let something go wrong, or nothing."""
        if self._rng.random() < 0.5:
            self._rng.choice(self._faults)()
