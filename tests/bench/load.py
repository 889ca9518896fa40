"""Makes signed deliveries and sends them as fast as they are answered: one generator for every receiver.

A process of its own, with raw sockets and `epoll`: everything is made before the first byte is sent, and an answer is
only looked at for its status and its end, so that the generator has time left where a receiver has none.
"""

from __future__ import annotations

import asyncio
import re
import select
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from bot.webhook.signature import sign
from tests.bench import child

SECRET = "a webhook secret of the benchmarks"
#: what stands for the number of the comment in the template; as many digits as the numbers that replace it
MARK = 900_000_000
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


def requests(template: bytes, first: int, count: int) -> list[bytes]:
    """So many whole HTTP requests with comments numbered from `first`, each with a GUID and a signature of its own."""
    secret, mark = SECRET.encode(), str(MARK).encode()
    made = []
    for number in range(first, first + count):
        body = template.replace(mark, b"%d" % number)
        head = (
            f"POST /webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: */*\r\n"
            f"User-Agent: GitHub-Hookshot/044aadd\r\nX-GitHub-Event: issue_comment\r\n"
            f"X-GitHub-Delivery: 00000000-0000-4000-8000-{number:012d}\r\n"
            f"X-GitHub-Hook-ID: 11\r\nX-GitHub-Hook-Installation-Target-ID: 1\r\n"
            f"X-GitHub-Hook-Installation-Target-Type: integration\r\n"
            f"X-Hub-Signature-256: {sign(secret, body).decode()}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


@dataclass(slots=True)
class _Line:
    """One connection: what was sent when, and what has come back of the answer."""

    socket: socket.socket
    sent: float = 0.0
    heard: bytes = b""


def fire(port: int, connections: int, made: list[bytes]) -> dict[str, Any]:
    """Send all of `made` over so many connections, one request at a time on each.

    Gives begin and end by the system's monotonic clock, the seconds each request took, and the share of the time that
    this process was busy itself. Raises where an answer is no success.
    """
    with ExitStack() as stack:
        poll = stack.enter_context(select.epoll())
        lines: dict[int, _Line] = {}
        for _ in range(connections):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 262_144)
            lines[opened.fileno()] = _Line(opened)
            poll.register(opened.fileno(), select.EPOLLIN)
        waiting = iter(made)
        taken: list[float] = []
        busy, begun = time.process_time(), time.monotonic()
        open_ = sum(_send(line, waiting) for line in lines.values())
        while open_:
            for number, _ in poll.poll():
                line = lines[number]
                line.heard += line.socket.recv(65_536)
                if _whole(line.heard):
                    taken.append(time.monotonic() - line.sent)
                    line.heard = b""
                    open_ -= not _send(line, waiting)
        ended = time.monotonic()
        share = (time.process_time() - busy) / (ended - begun)
    return {"begun": begun, "ended": ended, "taken": taken, "busy": share}


def _send(line: _Line, waiting: Iterator[bytes]) -> bool:
    """Send the next request; False where there is none left."""
    request = next(waiting, None)
    if request is None:
        return False
    line.sent = time.monotonic()
    line.socket.sendall(request)
    return True


def _whole(heard: bytes) -> bool:
    """Whether the answer is complete. Raises where it is no success, or the connection was closed."""
    if not heard:
        raise RuntimeError("the receiver closed the connection")
    head, found, body = heard.partition(b"\r\n\r\n")
    if not found:
        return False
    if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 202")):
        raise RuntimeError(f"refused: {heard[:300]!r}")
    length = _LENGTH.search(head)
    return body.endswith(b"0\r\n\r\n") if length is None else len(body) >= int(length[1])


async def _main() -> None:
    with open(sys.argv[1], "rb") as file:
        template = file.read()
    made: list[bytes] = []

    async def answer(asked: dict[str, Any]) -> dict[str, Any]:
        if "make" in asked:
            made[:] = requests(template, asked["make"], asked["count"])
            return {"made": len(made)}
        return fire(asked["port"], asked["connections"], made)

    await child.serve(answer)


if __name__ == "__main__":
    asyncio.run(_main())
