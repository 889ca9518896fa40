"""The two ways to an MCP server, both bounded: a command in the sandbox, and streamable HTTP to one host.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports. Imports the SDK, so it is imported
where a server is used, never at the start.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import httpx2
from mcp.client import Client, Transport
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import Implementation, jsonrpc_message_adapter

from bot import __version__
from bot.workspace import Live

#: seconds until a connection has to stand
CONNECT_SECONDS = 10.0


@dataclass(slots=True)
class Wire:
    """What happened below the protocol, which its own errors do not say. `large` are the bytes of a message too big."""

    large: int = 0
    refused: str = ""


class ForeignHost(httpx2.TransportError):
    """A request was about to leave the resource's own host."""


def over_pipe(live: Live, most: int, wire: Wire) -> Transport:
    """Messages of at most `most` bytes, one a line, to and from a command's standard input and output."""
    return _over_pipe(live, most, wire)


@asynccontextmanager
async def _over_pipe(live: Live, most: int, wire: Wire) -> AsyncIterator[TransportStreams]:
    to_us, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_us = anyio.create_memory_object_stream[SessionMessage](0)

    async def reads() -> None:
        async with to_us:
            async for line in _lines(live, most, wire):
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    continue  # what a server prints beside the protocol
                try:
                    await to_us.send(SessionMessage(message))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    async def writes() -> None:
        async with from_us:
            async for each in from_us:
                text = json.dumps(each.message.model_dump(by_alias=True, mode="json", exclude_unset=True))
                if not await live.write(text.encode("ascii") + b"\n"):
                    return

    async with anyio.create_task_group() as both:
        both.start_soon(reads)
        both.start_soon(writes)
        try:
            yield from_server, to_server
        finally:
            both.cancel_scope.cancel()
            for stream in (to_us, from_server, to_server, from_us):
                stream.close()


async def _lines(live: Live, most: int, wire: Wire) -> AsyncIterator[bytes]:
    """The lines that it writes. One that is longer than `most` is counted to its end, and the last."""
    kept = bytearray()
    skipped = 0
    while chunk := await live.read():
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            if skipped or len(kept) + len(end) > most:
                wire.large = skipped + len(kept) + len(end)
                return
            yield bytes(kept + end)
            kept.clear()
        if skipped or len(kept) + len(rest) > most:
            skipped += len(kept) + len(rest)
            kept.clear()
        else:
            kept += rest
    wire.large = skipped


@asynccontextmanager
async def over_http(
    address: str, headers: Mapping[str, str], *, seconds: float, most: int, wire: Wire
) -> AsyncIterator[Transport]:
    """Messages of at most `most` bytes as POST to `address`, and to no other host. `seconds` is the longest silence."""
    async with httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        transport=_OneHost(httpx2.URL(address), most, wire),
        follow_redirects=False,
        trust_env=False,
    ) as http:
        yield streamable_http_client(address, http_client=http, max_sse_event_size=most)


def client(transport: Transport) -> Client:
    """The SDK's client, to be entered: it keeps nothing, and nothing that a server asks of a model is answered."""
    return Client(transport, client_info=Implementation(name="threadsmith", version=__version__), cache=None)


class _OneHost(httpx2.AsyncBaseTransport):
    def __init__(self, address: httpx2.URL, most: int, wire: Wire) -> None:
        self._origin = _origin(address)
        self._most = most
        self._wire = wire
        self._inner = httpx2.AsyncHTTPTransport(retries=0, trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if _origin(request.url) != self._origin:
            raise ForeignHost(f"{request.url.host} is not the resource's host", request=request)
        response = await self._inner.handle_async_request(request)
        json_body = response.headers.get("content-type", "").lower().startswith("application/json")
        if request.method == "POST":
            self._wire.refused = ""
        if request.method == "POST" and response.status_code >= 300 and not json_body:
            location = response.headers.get("location", "")
            where = f", which leads to {_host(location)}" if location else ""
            self._wire.refused = f"its server answered with HTTP {response.status_code}{where}"
        if response.headers.get("content-encoding", "identity") != "identity":
            # nobody asked for it, and a few bytes of it may become any number
            await response.aclose()
            self._wire.refused = "its server compresses its answers, which was not asked for"
            raise httpx2.DecodingError(self._wire.refused, request=request)
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(stream, self._most, self._wire)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most: int, wire: Wire) -> None:
        self._inner, self._most, self._wire = inner, most, wire

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > self._most:
                self._wire.large = size
                raise httpx2.ReadError(f"more than {self._most} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _host(location: str) -> str:
    """Of where a redirect leads only the host: the rest may hold anything."""
    try:
        return httpx2.URL(location).host or "another path"
    except httpx2.InvalidURL:
        return "nowhere"
