"""The parent's side of `tests.faults.warm`: bots that are started in a fifth of a second, and killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.boundaries import Edge
from tests.faults.haste import Haste
from tests.faults.warm import OUT

ROOT = Path(__file__).resolve().parents[2]


@dataclass(eq=False)
class Life:
    """One start of a bot, until it ends."""

    number: int
    pid: int = 0
    port: int = 0
    #: the commit boundaries that it met, and the one it was killed at
    met: set[Edge] = field(default_factory=set)
    killed_at: Edge | None = None
    code: int | None = None
    #: set when it listens, and when it has ended
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def serves(self) -> bool:
        return self.port != 0 and not self.ended.is_set()


class Lives:
    """Starts bots. Made by `lives`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._lives: dict[int, Life] = {}
        self._next = 1
        #: set when it forks from here on
        self.warm = asyncio.Event()

    def start(
        self, environ: Mapping[str, str], haste: Haste, log: Path, *, arm: Collection[Edge] = (), nth: int = 1
    ) -> Life:
        """A bot with these settings; it is killed when it meets one of the edges `arm` for the `nth` time."""
        life = Life(self._next)
        self._lives[life.number] = life
        self._next += 1
        self._order(
            start=life.number, environ=dict(environ), arm=sorted(arm), nth=nth, log=str(log),
            factor=haste.factor, began=haste.began,
        )  # fmt: skip
        return life

    async def kill(self, life: Life, number: signal.Signals = signal.SIGKILL) -> None:
        """End it now; returns when it is no more."""
        self._order(signal=life.number, number=int(number))
        await life.ended.wait()

    def _order(self, **order: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")

    async def hear(self, told: asyncio.StreamReader) -> None:
        """Follow what is told until it ends."""
        async for line in told:
            self._note(json.loads(line))

    def _note(self, told: Mapping[str, Any]) -> None:
        if "ready" in told:
            assert told["ready"] == 1, "a process with threads must not fork"
            self.warm.set()
            return
        life = self._lives[told["life"]]
        life.pid = told.get("pid", life.pid)
        if "met" in told:
            life.met.add(_edge(told["met"]))
        if "killed" in told:
            life.killed_at = _edge(told["killed"])
        if "port" in told:
            life.port = told["port"]
            life.ready.set()
        if "ended" in told:
            life.code = told["ended"]
            life.ended.set()
            del self._lives[life.number]


def _edge(told: list[str]) -> Edge:
    when, name = told
    return when, name


@asynccontextmanager
async def lives() -> AsyncIterator[Lives]:
    """A warm process to start bots from, while it is entered."""
    reading, writing = os.pipe()
    # the child gets the end that it writes to as `OUT`, whatever its number is here
    words = f"import os; os.dup2({writing}, {OUT}); from tests.faults import warm; warm.main()"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", words, cwd=ROOT, stdin=asyncio.subprocess.PIPE, pass_fds=(writing,),
    )  # fmt: skip
    os.close(writing)
    told = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(told), os.fdopen(reading, "rb", 0)
    )
    made = Lives(process)
    hearing = asyncio.create_task(made.hear(told))
    try:
        await made.warm.wait()
        yield made
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
        await hearing
        transport.close()
