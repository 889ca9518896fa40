"""The way out of a sandbox for a command that may reach some hosts: an HTTP proxy that opens no others.

The command keeps a network of its own, with nothing but its own loopback. Inside, a small relay
(`gateway_program.py`) listens there and passes every connection on to a Unix socket, whose folder is shown to the
command; outside, this is the other end. Programs find it by `HTTP_PROXY` and `HTTPS_PROXY`; one that does not look
reaches nothing. Names are looked up here, so the command needs no resolver. Source: RFC 9110, 9.3.6 (`CONNECT`),
RFC 9112, 3.2.2.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from bot.errors import OperatorError
from bot.workspace.interpreter import interpreter
from bot.workspace.process import Command
from bot.workspace.reach import Reach

#: bytes of a request's head, seconds for it to come and for a host to answer, and connections at once
HEAD_MAX = 16 * 1024
SECONDS = 15.0
AT_ONCE = 64

_PROGRAM = Path(__file__).with_name("gateway_program.py")


@asynccontextmanager
async def opened(command: Command) -> AsyncIterator[Command]:
    """The command as it is to be started so that it reaches its hosts, for as long as the block takes.

    Raises OperatorError where there can be no socket for it.
    """
    if not command.network:
        yield command
        return
    folder = await asyncio.to_thread(_folder)
    try:
        gateway = _Gateway(command.network)
        try:
            server = await asyncio.start_unix_server(gateway.serve, folder / "out", limit=HEAD_MAX)
        except OSError as error:
            mend = "a socket's path has at most 107 bytes: set TMPDIR to a short one"
            raise OperatorError(f"cannot listen in {folder}: {error}", mend) from error
        try:
            python = interpreter()
            program = await asyncio.to_thread(_PROGRAM.read_text, encoding="utf-8")
            argv = python.argv(program, str(folder / "out"), *command.argv)
            yield replace(command, argv=argv, readable=(*command.readable, folder, *python.folders), network=Reach())
        finally:
            server.close()
            await gateway.close()
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _folder() -> Path:
    # commands are given real paths; on some systems the temporary folder is a link
    return Path(tempfile.mkdtemp(prefix="ts-gate-", dir=os.path.realpath(tempfile.gettempdir())))


class _Gateway:
    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._room = asyncio.Semaphore(AT_ONCE)
        self._talks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the command's."""
        talk = asyncio.current_task()
        assert talk is not None
        self._talks.add(talk)
        try:
            async with self._room:
                await self._talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ValueError):
            pass  # the command sees its connection end
        except asyncio.CancelledError:
            pass  # `close`: the streams' own callback would log it
        finally:
            self._talks.discard(talk)
            writer.close()

    async def close(self) -> None:
        """End what is under way."""
        talks = [talk for talk in self._talks if talk is not asyncio.current_task()]
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        line, _, fields = head.partition(b"\r\n")
        method, target, version = line.decode("ascii").split(" ")
        tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if tunnel else target)
        host, port = parts.hostname or "", parts.port or (443 if tunnel else 80)
        if not host or (not tunnel and parts.scheme != "http"):
            await _refuse(writer, "400 Bad Request", "a proxy request names its host")
            return
        if not self._reach.to(host, port):
            await _refuse(writer, "403 Forbidden", f"{host}:{port} is not open to this step")
            return
        try:
            async with asyncio.timeout(SECONDS):
                there, to_there = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as error:
            await _refuse(writer, "502 Bad Gateway", f"{host}:{port} cannot be reached: {type(error).__name__}")
            return
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
                to_there.write(f"{method} {path} {version}\r\nConnection: close\r\n".encode("ascii") + _kept(fields))
            await asyncio.gather(_pass(reader, to_there), _pass(there, writer))
        finally:
            to_there.close()


def _kept(fields: bytes) -> bytes:
    """The header without what was meant for a proxy; one connection is one host's, so it is not kept."""
    lines = fields.split(b"\r\n")
    gone = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")
    return b"\r\n".join(line for line in lines if not line.lower().startswith(gone))


async def _refuse(writer: asyncio.StreamWriter, status: str, reason: str) -> None:
    body = f"{reason}\n".encode("ascii", "replace")
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode("ascii") + body)
    await writer.drain()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Everything from one side to the other, at the pace of the slower; the end too."""
    with contextlib.suppress(OSError):
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
