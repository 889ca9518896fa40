"""The back end without isolation: a tiny supervisor holds the tree. For operators who trust every writer they serve.

The command's own environment is as clean as in the sandbox and its tree dies as surely, but it runs as the engine's
user, in the engine's PID namespace and network: it can read `/proc/<engine>/environ` and every file of the engine. That
is why `BOT_SANDBOX` is `required` by default.
"""

from __future__ import annotations

import errno
import marshal
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from bot.errors import OperatorError
from bot.workspace.large import with_large_values
from bot.workspace.live import Live, converse
from bot.workspace.process import Command, Completed
from bot.workspace.tree import Ended, Launch, drive, memory_file

_PROGRAM = Path(__file__).with_name("supervisor.py")


class Supervised:
    """Runs commands under the supervisor, without isolation."""

    isolated = False

    def describe(self) -> str:
        return "no isolation (BOT_SANDBOX=off): commands run as the engine's user and can read what it can read"

    async def run(self, command: Command) -> Completed:
        """Run it to its end or its time-out. Raises OperatorError where the supervisor cannot be started."""
        async with with_large_values(command) as given:
            return _completed(given, await supervise(given))

    @asynccontextmanager
    async def open(self, command: Command) -> AsyncIterator[Live]:
        """Start it to talk with; see `Sandbox.open`. Raises OperatorError as `run` does."""
        with _home() as home:
            async with (
                with_large_values(command) as given,
                converse(_launch(given, home), partial(_completed, given), max_stderr=given.max_stderr) as live,
            ):
                yield live


def _completed(command: Command, ended: Ended) -> Completed:
    stderr, missing = ended.stderr.text(), ""
    if (number := ended.report.get("errno")) is not None and not ended.timed_out:
        missing = command.argv[0] if number == errno.ENOENT and ended.report["at"] == "exec" else ""
        what = command.argv[0] if ended.report["at"] == "exec" else command.cwd
        stderr = f"{what}: {os.strerror(number)}\n{stderr}"
    return Completed(
        exit_code=ended.exit_code,
        stdout=ended.stdout.text(),
        stderr=stderr,
        duration=ended.duration,
        timed_out=ended.timed_out,
        missing=missing,
        stdout_bytes=ended.stdout.size,
    )


async def supervise(command: Command) -> Ended:
    """Run a command under the supervisor and hand back its raw output (the engine's own git uses this too)."""
    with _home() as home:
        launch = _launch(command, home)
        try:
            return await drive(
                launch,
                stdin=command.stdin,
                timeout=command.timeout,
                max_stdout=command.max_stdout,
                max_stderr=command.max_stderr,
            )
        except OSError as error:
            raise OperatorError(f"cannot start processes: {error}", "see `threadsmith doctor`") from error


@contextmanager
def _home() -> Iterator[str]:
    home = tempfile.mkdtemp(prefix="threadsmith-home-")
    try:
        yield home
    finally:
        # the supervisor removes it; this is for one that was killed or never started
        shutil.rmtree(home, ignore_errors=True)


def _launch(command: Command, home: str) -> Launch:
    spec = {
        "argv": command.words(),
        "env": command.environment(home),
        "cwd": str(command.cwd),
        "home": home,
        "parent": os.getpid(),
    }
    source = memory_file("spec", marshal.dumps(spec))
    report, report_end = os.pipe()
    hold_end, hold = os.pipe()
    return Launch(
        argv=(sys.executable, "-I", "-S", "-X", "utf8", str(_PROGRAM), str(source), str(report_end), str(hold_end)),
        fds=(source, report_end, hold_end),
        report=report,
        hold=hold,
        gate=False,
        leader=False,
    )
