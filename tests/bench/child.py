"""Processes of a benchmark: each reads a JSON line from its standard input and answers with one, until that ends."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: bytes of an answer at most: the latencies of a whole round
_LINE = 64 * 1024 * 1024


class Child:
    """One such process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, **question: Any) -> dict[str, Any]:
        """Send a question and wait for its answer. Raises where the process ends instead."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        await self._process.stdin.drain()
        return await self.hear()

    async def hear(self) -> dict[str, Any]:
        """The next line that it says."""
        assert self._process.stdout is not None
        while True:
            line = await self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"a process of the benchmark ended with {await self._process.wait()}")
            if line.startswith(b"{"):  # anything else is chatter of somebody's library
                answer: dict[str, Any] = json.loads(line)
                return answer


@asynccontextmanager
async def child(*argv: str, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> AsyncIterator[Child]:
    """Start a process, and end it on leaving: its input closes, and it is killed if that does not do in ten seconds."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE,
    )
    try:
        yield Child(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()


def python(module: str) -> tuple[str, ...]:
    """The command that runs a module of this folder."""
    return (sys.executable, "-m", f"tests.bench.{module}")


async def serve(answer: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]) -> None:
    """The other side: answer every line of standard input until it closes."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        tell(await answer(json.loads(line)))


def tell(answer: dict[str, Any]) -> None:
    """Say one line."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
