"""The front door behind a real server: bodies that do not say how long they are."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webhook.senders import SECRET, comment_payload, encoded, headers

SERVER = f"""
import sys, uvicorn
from fastapi import FastAPI
from bot.webhook import door, route

class Inbox:
    async def take(self, delivery):
        return "accepted"

app = FastAPI()
app.include_router(route(door(Inbox(), secrets=[{SECRET!r}], app_id=1)))
uvicorn.run(app, port=0, access_log=False, http="httptools")
"""
MIB = 1 << 20


@pytest.fixture
def server() -> Iterator[tuple[int, int]]:
    """Process id and port of a uvicorn of its own."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            lines = (re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in process.stderr)
            port = next(int(found[1]) for found in lines if found)
            yield process.pid, port
        finally:
            process.terminate()


def peak_mib(pid: int) -> int:
    """The most memory that a process ever held, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) // 1024


def chunked(port: int, mib: int) -> int:
    """Status of a POST of that many MiB, chunked without a length; the server may answer before all is sent."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    unsigned = {"X-Hub-Signature-256": "sha256=" + "0" * 64}  # could be a signature, so that the body is read
    with contextlib.closing(connection):
        # a server that closes early makes the sending fail; its answer can be read all the same
        with contextlib.suppress(ConnectionError):
            connection.request("POST", "/webhook", (bytes(MIB) for _ in range(mib)), unsigned, encode_chunked=True)
        return connection.getresponse().status


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from Linux' /proc")
def test_chunked_without_length_is_413_and_memory_is_flat(server: tuple[int, int]) -> None:
    """Four bodies of 64 MiB: each 413, and the server never held more than one limit's worth; then it still serves."""
    pid, port = server
    before = peak_mib(pid)
    assert [chunked(port, 64) for _ in range(4)] == [413] * 4
    assert peak_mib(pid) - before < 32
    body = encoded(comment_payload())
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        connection.request("POST", "/webhook", iter([body]), headers(body))
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["status"]) == (202, "accepted")
