"""A command that is talked with while it runs: lines to its standard input, lines from its output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bot.errors import OperatorError
from bot.workspace.capture import Capture
from bot.workspace.process import Completed
from bot.workspace.tree import Ended, Launch, Tree

_CHUNK = 1 << 16


class Live:
    """One running command. Made by `Sandbox.open`, which also ends it; for one reader and one writer at a time."""

    def __init__(self, tree: Tree, explain: Callable[[Ended], Completed]) -> None:
        self._tree = tree
        self._explain = explain
        self._stdin, self._stdout = tree.open()
        self._loop = asyncio.get_running_loop()

    async def write(self, data: bytes) -> bool:
        """Give it all of `data`, waiting while it does not read. False where it no longer takes any."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                await self._ready(self._stdin, self._loop.add_writer, self._loop.remove_writer)
            except OSError:
                return False
        return True

    async def read(self) -> bytes:
        """What it wrote next, at most 64 KiB; empty at the end. Nothing is read ahead, so it waits for us."""
        while True:
            try:
                return os.read(self._stdout, _CHUNK)
            except BlockingIOError:
                await self._ready(self._stdout, self._loop.add_reader, self._loop.remove_reader)

    async def end(self, patience: float) -> Completed:
        """Close its standard input and give it `patience` seconds to end by itself; what it came to so far.

        `stdout` of what is handed back is empty. The exit code is None where it still runs.
        """
        self._tree.shut(self._stdin)
        await asyncio.wait({self._tree.gone}, timeout=patience)
        self._tree.drain()
        ended = self._tree.ended
        ended.timed_out = not self._tree.gone.done()
        ended.exit_code = None if ended.timed_out else ended.report.get("exit-code")
        return self._explain(ended)

    async def _ready(self, fd: int, add: Callable[..., None], remove: Callable[[int], bool]) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()

        def now() -> None:
            if not ready.done():
                ready.set_result(None)

        add(fd, now)
        try:
            await ready
        finally:
            remove(fd)


@asynccontextmanager
async def converse(launch: Launch, explain: Callable[[Ended], Completed], *, max_stderr: int) -> AsyncIterator[Live]:
    """Start a launcher to talk with. However the block ends, the tree is dead and all descriptors are closed.

    `explain` makes of what the tree came to what is told of the command. Raises OperatorError where the launcher itself
    cannot be started.
    """
    tree = Tree(launch, Ended(Capture(0), Capture(max_stderr)))
    try:
        try:
            live = Live(tree, explain)
        except OSError as error:
            raise OperatorError(f"cannot start processes: {error}", "see `threadsmith doctor`") from error
        yield live
    finally:
        interrupted = await tree.stop()
        tree.close()
    if interrupted:  # came while the tree was dying after a normal end: it is still owed
        raise asyncio.CancelledError
