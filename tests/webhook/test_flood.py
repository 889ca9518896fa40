"""A flood at the front door: its memory stays flat, and GitHub's deliveries come in all the same."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import httpx
import pytest

from tests.webhook.senders import SECRET, comment_payload, encoded, headers

#: a front door with its store, as `serve` has them, with short time limits
SERVER = f"""
import asyncio, sys
from fastapi import FastAPI
from bot.store.inbox import StoreInbox
from bot.model.clock import SystemClock
from bot.store import open_store
from bot.web.server import Server, configured
from bot.webhook import door, route

async def main():
    store = open_store(f"sqlite:///{{sys.argv[1]}}")
    app = FastAPI()
    inbox, patience = StoreInbox(store, SystemClock()), float(sys.argv[2])
    app.include_router(route(door(inbox, secrets=[{SECRET!r}], app_id=1, timeout=patience)))
    config = configured(app, "127.0.0.1", 0)
    await Server(config, lambda port: print(port, flush=True), patience=patience, most=64).serve()

asyncio.run(main())
"""
#: posts bodies of 26 MiB from many connections at once; prints how each was answered
FLOOD = """
import http.client, json, sys, threading
port, many, signed = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
piece, answers = bytes(1 << 20), []
def post(number):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        try:
            connection.request("POST", "/webhook", (piece for _ in range(26)), signed, encode_chunked=True)
        except OSError:
            pass
        answers.append(connection.getresponse().status)
    except (OSError, http.client.HTTPException):
        answers.append(0)
    finally:
        connection.close()
threads = [threading.Thread(target=post, args=(number,)) for number in range(many)]
[each.start() for each in threads], [each.join() for each in threads]
print(json.dumps(answers))
"""
UNSIGNED = {"X-Hub-Signature-256": "sha256=" + "0" * 64}
AT_ONCE, EACH = 8, 15


@asynccontextmanager
async def front_door(tmp_path: Path, patience: float = 30) -> AsyncIterator[tuple[int, int]]:
    """Process id and port."""
    command = (sys.executable, "-c", SERVER, str(tmp_path / "bot.db"), str(patience))
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process.pid, int(await asyncio.wait_for(process.stdout.readline(), 60))
    finally:
        process.terminate()
        await process.wait()


def peak_mib(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) // 1024


async def deliver(port: int, name: str) -> list[float]:
    """Good deliveries from several connections; the seconds that each took. All of them are taken."""
    took: list[float] = []

    async def sender(client: httpx.AsyncClient, number: int) -> None:
        for turn in range(EACH):
            guid = f"{name}-{number}-{turn}"
            body = encoded(comment_payload(f"@bot {guid} " + "x" * 11_000, id=hash(guid) % 10**9))
            began = time.perf_counter()
            answer = await client.post("/webhook", content=body, headers=headers(body, guid=guid))
            took.append(time.perf_counter() - began)
            assert (answer.status_code, answer.json()["status"]) == (202, "accepted")

    limits = httpx.Limits(max_connections=AT_ONCE)
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30, limits=limits
    ) as client:
        await asyncio.gather(*(sender(client, number) for number in range(AT_ONCE)))
    return sorted(took)


def p99(took: list[float]) -> float:
    return took[int(len(took) * 0.99)]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from Linux' /proc")
async def test_fifty_large_bodies_at_once(tmp_path: Path) -> None:
    """Chunked, without a length: each is 413 or is sent away; memory stays within what bodies may hold together."""
    async with front_door(tmp_path) as (pid, port):
        await deliver(port, "before")
        before = peak_mib(pid)
        flood = await asyncio.create_subprocess_exec(
            sys.executable, "-c", FLOOD, str(port), "50", json.dumps(UNSIGNED), stdout=subprocess.PIPE
        )
        meanwhile = await deliver(port, "meanwhile")
        answers = Counter(json.loads((await asyncio.wait_for(flood.communicate(), 120))[0]))
        assert set(answers) <= {413, 503, 408, 0}
        assert answers[413] > 0
        assert sum(answers.values()) == 50
        # 64 MiB of large ones, 32 MiB of small ones, and pieces under way; all of them together have 1,300
        assert peak_mib(pid) - before < 160
        # GitHub gives up after 10 s
        assert p99(meanwhile) < 5
        await deliver(port, "afterwards")


async def test_bodies_and_headers_that_never_end(tmp_path: Path) -> None:
    """They are sent away in time, and keep nobody out: not by connections, not by the memory that they hold."""
    async with front_door(tmp_path, patience=2) as (_, port), AsyncExitStack() as stack:

        def connect(sent: bytes) -> socket.socket:
            made = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=20)))
            made.sendall(sent)
            return made

        head = b"POST /webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=" + b"0" * 64 + b"\r\n"
        bodies = [
            await asyncio.to_thread(connect, head + b"Content-Length: 2000000\r\n\r\n" + bytes(1_000_000))
            for _ in range(40)
        ]
        heads = [connect(head) for _ in range(100)]  # more than it keeps
        refused = connect(head.replace(b"sha256=", b"sha1=") + b"Content-Length: 2000000\r\n\r\n" + bytes(1000))
        assert p99(await deliver(port, "meanwhile")) < 5
        # every one of them ends, though none goes on
        for one in (*bodies, *heads, refused):
            while await asyncio.to_thread(received, one):
                pass


def received(one: socket.socket) -> bytes:
    try:
        return one.recv(65536)
    except ConnectionError:
        return b""
