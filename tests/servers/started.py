"""Starts the MCP server of this folder: inside either sandbox, or on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.workflows.resources import Opened
from bot.workspace import Command, Completed, Live, Sandbox, interpreter

PROGRAM = Path(__file__).with_name("mcp_server.py")
PACKAGES = Path(os.path.realpath(sysconfig.get_path("purelib")))
TOKEN = "canary-of-the-test-server"


class WithPackages:
    """A sandbox in which this Python, its packages and the server are visible."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner

    @property
    def isolated(self) -> bool:
        return self._inner.isolated

    def describe(self) -> str:
        return self._inner.describe()

    def _seeing(self, command: Command) -> Command:
        return replace(command, readable=(*command.readable, *interpreter().folders, PACKAGES, PROGRAM.parent))

    async def run(self, command: Command) -> Completed:
        return await self._inner.run(self._seeing(command))

    def open(self, command: Command) -> AbstractAsyncContextManager[Live]:
        return self._inner.open(self._seeing(command))


def on_stdio(timeout: float = 30) -> Opened:
    """The server as a command. It needs `VARIABLES` to find the SDK."""
    return Opened("tests", "command", (str(interpreter().program), str(PROGRAM), "stdio"), timeout=timeout)


VARIABLES = {"PYTHONPATH": str(PACKAGES), "GIVEN": "x y"}


@dataclass(frozen=True, slots=True)
class OnLoopback:
    """A running server. `opened` is the resource at a path of it."""

    port: int

    def opened(self, path: str = "/mcp", *, token: str = TOKEN, timeout: float = 30, host: str = "127.0.0.1") -> Opened:
        headers = {"Authorization": f"Bearer {token}"}
        address = f"http://{host}:{self.port}{path}"
        return Opened("tests", "url", address=address, headers=headers, timeout=timeout)


@contextmanager
def on_loopback(mode: str, away: str = "127.0.0.1:9") -> Iterator[OnLoopback]:
    """The server over HTTP; `mode` is `http` (answers are streams of events) or `json`."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), mode],
        env={"PATH": os.environ["PATH"], "TOKEN": TOKEN, "AWAY": away},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield OnLoopback(int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()
