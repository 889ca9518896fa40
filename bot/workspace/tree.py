"""Drives one process tree: starts its launcher, reads it in flat memory, and leaves nothing alive.

A launcher (bubblewrap, or our supervisor) holds the tree. It reports JSON documents, one a line, on a pipe:
`child-pid` once it has made its child, `exit-code` once the command has ended; without `exit-code` the command never
ran. Deaths are watched through pidfds (pidfd_open(2), Linux 5.3): they name a process for ever, a number does not, and
they work on any thread and event loop. Processes are started on the loop's own thread, because the signal that binds
a child's life to ours (PR_SET_PDEATHSIG) is bound to the starting thread, not to the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from bot.workspace.capture import Capture

_CHUNK = 1 << 16
#: seconds for a killed tree to be gone; only a process stuck in the kernel takes longer
_DEATH = 10.0
#: seconds for a launcher to report its child when it is to be stopped at once
_REPORT = 2.0


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a launcher. The tree owns every descriptor named here and closes it.

    `fds` are inherited by the launcher under the same numbers. `report` is our end of its pipe. `hold` is our end of a
    pipe whose end of file tells the launcher to stop; where `gate` is true one byte on it lets the command begin.
    `leader` is true where the reported child is the init of a PID namespace, so that its death is everyone's.
    """

    argv: tuple[str, ...]
    fds: tuple[int, ...]
    report: int
    hold: int
    gate: bool
    leader: bool


@dataclass(slots=True)
class Ended:
    """A tree that is dead. `exit_code` is None where the command did not end by itself."""

    stdout: Capture
    stderr: Capture
    exit_code: int | None = None
    duration: float = 0.0
    timed_out: bool = False
    report: dict[str, Any] = field(default_factory=dict)


def memory_file(name: str, content: bytes) -> int:
    """A descriptor to read `content` from; it is no pipe, so nobody waits for anybody and early closing is fine."""
    fd = os.memfd_create(name)
    try:
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


async def drive(launch: Launch, *, stdin: bytes, timeout: float, max_stdout: int, max_stderr: int) -> Ended:
    """Run a launcher until its command ends, `timeout` seconds pass or the awaiting task is cancelled.

    However this returns or raises, the tree is dead and all descriptors are closed. Raises OSError where the launcher
    itself cannot be started.
    """
    tree = Tree(launch, Ended(Capture(max_stdout), Capture(max_stderr)))
    began = time.monotonic()
    try:
        tree.start(stdin)
        await asyncio.wait({tree.gone}, timeout=timeout)
        tree.ended.timed_out = not tree.gone.done()
    finally:
        tree.ended.duration = time.monotonic() - began
        interrupted = await tree.stop()
        tree.close()
    if interrupted:  # came while the tree was dying after a normal end: it is still owed
        raise asyncio.CancelledError
    ended = tree.ended
    ended.exit_code = None if ended.timed_out else ended.report.get("exit-code")
    return ended


class Tree:
    """One launcher and what it holds, from its start to the last descriptor."""

    def __init__(self, launch: Launch, ended: Ended) -> None:
        self.ended = ended
        self._launch = launch
        self._loop = asyncio.get_running_loop()
        self._open: set[int] = {*launch.fds, launch.report, launch.hold}
        self._feeds: dict[int, Callable[[bytes], None]] = {}
        self._line = b""
        self._launcher: subprocess.Popen[bytes] | None = None
        self._leader: int | None = None
        #: the launcher is dead
        self.gone: asyncio.Future[None] = self._loop.create_future()
        #: the launcher has reported its child
        self._reported: asyncio.Future[None] = self._loop.create_future()
        self._leader_gone: asyncio.Future[None] = self._loop.create_future()

    def start(self, stdin: bytes) -> None:
        """Start it with all of its standard input; its output is gathered."""
        source = memory_file("stdin", stdin) if stdin else os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._open.add(source)
        self._follow(self._begin(source), self.ended.stdout.feed)

    def open(self) -> tuple[int, int]:
        """Start it to talk with: descriptors to write its standard input to, and to read its output from."""
        source, stdin = os.pipe()
        self._open.update((source, stdin))
        out = self._begin(source)
        os.set_blocking(stdin, False)
        os.set_blocking(out, False)
        return stdin, out

    def shut(self, fd: int) -> None:
        """Close one of the descriptors that `open` gave; again is nothing."""
        self._loop.remove_writer(fd)
        self._shut(fd)

    def _begin(self, source: int) -> int:
        outputs = [os.pipe(), os.pipe()]
        self._open.update(fd for pair in outputs for fd in pair)
        (out, out_end), (err, err_end) = outputs
        # the launcher's own environment is empty: it is readable as /proc/1/environ inside the namespace
        self._launcher = subprocess.Popen(
            self._launch.argv, stdin=source, stdout=out_end, stderr=err_end, pass_fds=self._launch.fds, env={}, cwd="/"
        )
        self._shut(source, out_end, err_end, *self._launch.fds)
        self._follow(err, self.ended.stderr.feed)
        self._follow(self._launch.report, self._reports)
        self._watch(os.pidfd_open(self._launcher.pid), self.gone)
        return out

    async def stop(self) -> bool:
        """Kill what is left and wait for it to be gone. Says whether a cancellation came meanwhile."""
        if self._launcher is None:
            return False
        interrupted = False
        if self._launch.leader:
            # killed between its two forks a launcher would leave an orphan that waits for ever
            interrupted |= await _settle([self._reported, self.gone], _REPORT, any_of=True)
            if self._leader is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._leader, signal.SIGKILL)
                interrupted |= await _settle([self._leader_gone], _DEATH)
            if not self.gone.done():
                self._launcher.kill()
        else:
            self._shut(self._launch.hold)
            interrupted |= await _settle([self.gone], _DEATH)
            if not self.gone.done():
                self._launcher.kill()
        return interrupted | await _settle([self.gone], _DEATH)

    def close(self) -> None:
        """Take what is still in the pipes, reap the launcher, close everything."""
        self.drain()
        if self._launcher is not None:
            if self.gone.done():
                self._launcher.wait()
            else:  # stuck in the kernel: whoever inherits it reaps it
                self._launcher.returncode = -signal.SIGKILL
        for future in (self.gone, self._reported, self._leader_gone):
            future.cancel()
        self._shut(*self._open)

    def drain(self) -> None:
        """Take what is in the pipes now."""
        for fd in list(self._feeds):
            while self._take(fd):
                pass

    def _follow(self, fd: int, feed: Callable[[bytes], None]) -> None:
        os.set_blocking(fd, False)
        self._feeds[fd] = feed
        self._loop.add_reader(fd, self._take, fd)

    def _take(self, fd: int) -> bool:
        """Read one chunk. False at the end, or where nothing is there now."""
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            self._feeds[fd](chunk)
            return True
        self._shut(fd)
        return False

    def _reports(self, chunk: bytes) -> None:
        *lines, self._line = (self._line + chunk).split(b"\n")
        for line in filter(bytes.strip, lines):
            self.ended.report.update(json.loads(line))
        pid = self.ended.report.get("child-pid")
        if pid is None or self._reported.done():
            return
        if self._launch.leader:
            # the child waits at the gate and its parent lives, so the number still is its own
            with contextlib.suppress(ProcessLookupError):
                self._leader = os.pidfd_open(pid)
                self._watch(self._leader, self._leader_gone)
        if self._launch.gate:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._launch.hold, b"\n")
        self._reported.set_result(None)

    def _watch(self, pidfd: int, future: asyncio.Future[None]) -> None:
        self._open.add(pidfd)

        def readable() -> None:
            self._loop.remove_reader(pidfd)
            if not future.done():
                future.set_result(None)

        self._loop.add_reader(pidfd, readable)

    def _shut(self, *fds: int) -> None:
        for fd in fds:
            if fd in self._open:
                self._open.discard(fd)
                self._feeds.pop(fd, None)
                self._loop.remove_reader(fd)
                os.close(fd)


async def _settle(futures: Iterable[asyncio.Future[None]], limit: float, *, any_of: bool = False) -> bool:
    """Wait for the futures whatever happens to our task; at most `limit` seconds. Says whether it was cancelled."""
    interrupted = False
    deadline = time.monotonic() + limit
    when = asyncio.FIRST_COMPLETED if any_of else asyncio.ALL_COMPLETED
    every = set(futures)
    while not (any if any_of else all)(f.done() for f in every) and (left := deadline - time.monotonic()) > 0:
        try:
            await asyncio.wait(every, timeout=left, return_when=when)
        except asyncio.CancelledError:
            interrupted = True
    return interrupted
