"""Which connections the server closes, and which it leaves to who may be sending."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from bot.web.server import CROWD, Server, configured

MOST = 2
ASKED = b"GET /nothing HTTP/1.1\r\nHost: bot.test\r\n\r\n"

#: how an answer ends
NOT_FOUND = b'{"detail":"Not Found"}'

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(many: int, *, moment: float, patience: float = 60) -> AsyncIterator[tuple[Server, list[Connection]]]:
    """A server that keeps `MOST` connections, and `many` that ask nothing. It has looked at all of them."""
    listens: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    config = configured(FastAPI(), "127.0.0.1", 0)
    server = Server(config, listens.set_result, patience=patience, most=MOST, moment=moment)
    serves = asyncio.create_task(server.serve())
    made: list[Connection] = []
    try:
        port = await listens
        made += [await asyncio.open_connection("127.0.0.1", port) for _ in range(many)]
        # each is taken when its first byte is there
        for _, writer in made:
            writer.write(ASKED[:5])
        yield server, made
    finally:
        for _, writer in made:
            writer.close()
        server.should_exit = True
        await serves


async def answered(made: list[Connection]) -> int:
    """How many of them get an answer, once what they ask is whole."""
    count = 0
    for reader, writer in made:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            writer.write(ASKED[5:])
            count += (await reader.readuntil(NOT_FOUND)).startswith(b"HTTP/1.1 404")
    return count


async def kept(server: Server, count: int) -> None:
    """Wait until the server has so many connections."""
    async with asyncio.timeout(10):
        while len(server.server_state.connections) != count:
            await asyncio.sleep(0.01)


async def test_who_has_just_come_is_not_sent_away_for_others() -> None:
    """There are more than it keeps, and it has noticed; a request that is on its way is answered all the same."""
    many = CROWD * MOST
    async with serving(many, moment=60) as (server, made):
        await kept(server, many)
        await server.on_tick(1)
        await server.on_tick(1)
        assert await answered(made) == many


async def test_after_a_moment_only_so_many_are_kept() -> None:
    """The oldest go first."""
    async with serving(MOST, moment=0.1) as (server, made):
        await kept(server, MOST)
        await server.on_tick(1)
        made.append(await asyncio.open_connection(*made[0][1].get_extra_info("peername")))
        made[-1][1].write(ASKED[:5])
        assert await answered(made[-1:]) == 1
        await kept(server, MOST)
        made[-1][1].write(ASKED[:5])
        assert await answered(made) == MOST


async def test_a_crowd_is_sent_away_at_once() -> None:
    """Whoever it is: files are finite."""
    async with serving(CROWD * MOST + 3, moment=60) as (server, _):
        await kept(server, CROWD * MOST)


async def test_who_asks_nothing_is_sent_away_in_time() -> None:
    """However few there are."""
    async with serving(1, moment=0, patience=0.1) as (server, (only,)):
        await kept(server, 0)
        with suppress(ConnectionError):
            assert await only[0].read() == b""
