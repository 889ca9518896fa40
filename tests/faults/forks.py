"""Processes of Python modules, forked from one that has imported them: to start a bot costs no start of Python.

They are processes like any other, to be killed, stopped and looked at. Unlike `tests.faults.warm`, which starts bots in
haste and with failpoints, this runs a module as `python -m` does, and what it is told comes with a pipe on which the
end of the process is told.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: what is imported before anything is forked
READY = ("tests.faults.serve", "tests.faults.poison_serve", "tests.faults.power_serve")
_PR_SET_PDEATHSIG = 1


class Forked:
    """One process, with as much of `asyncio.subprocess.Process` as tests ask for."""

    def __init__(self, pid: int, end: int) -> None:
        self.pid = pid
        self._end = end
        self._code: int | None = None
        os.set_blocking(end, False)

    @property
    def returncode(self) -> int | None:
        """How it ended, a signal as a negative number."""
        if self._code is None:
            try:
                told = os.read(self._end, 16)
            except BlockingIOError:
                return None
            os.close(self._end)
            self._code = int(told or b"-9")  # nobody told: whoever forked it is gone, and it with them
        return self._code

    def send_signal(self, number: signal.Signals) -> None:
        """Nothing where it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    async def wait(self) -> int:
        """Until it has ended."""
        if self.returncode is None:
            loop, ended = asyncio.get_running_loop(), asyncio.Event()
            watched = os.dup(self._end)  # several may wait
            loop.add_reader(watched, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(watched)
                os.close(watched)
        assert self.returncode is not None
        return self.returncode


def fork(module: str, *arguments: str, environ: Mapping[str, str]) -> Forked:
    """`python -m module` with nothing but `environ` in its environment; what it prints goes nowhere."""
    reading, writing = os.pipe()
    try:
        forks = _forks()
        told = json.dumps({"module": module, "arguments": arguments, "environ": dict(environ)}).encode()
        socket.send_fds(forks, [told], [writing])
        return Forked(int(forks.recv(16)), reading)
    finally:
        os.close(writing)


@functools.cache
def _forks() -> socket.socket:
    """The process that forks, for as long as this one lives."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())], cwd=ROOT, pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    @atexit.register
    def end() -> None:
        ours.close()
        process.wait()

    return ours


def main() -> None:
    """Fork whatever is asked for, until nobody is left to ask; whatever lives then is killed."""
    for name in READY:
        importlib.import_module(name)
    # what a bot imports when it is used for the first time
    from tests.faults.warm import LATER

    for name in LATER:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    assert len(os.listdir("/proc/self/task")) == 1, "a fork takes only one thread along"
    asked = socket.socket(fileno=int(sys.argv[1]))
    selector = selectors.DefaultSelector()
    selector.register(asked, selectors.EVENT_READ)
    alive: dict[int, int] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is not asked:
                pid, end = key.data
                _, status = os.waitpid(pid, 0)
                selector.unregister(key.fileobj)
                os.close(key.fd)
                del alive[pid]
                os.write(end, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(end)
                continue
            told, ends, _, _ = socket.recv_fds(asked, 65_536, 1)
            if not told:
                for pid in alive:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                return
            pid = os.fork()
            if pid == 0:
                others = [key.fd for key in selector.get_map().values()]
                selector.close()
                _become(json.loads(told), [ends[0], *others, *alive.values()])
            alive[pid] = ends[0]
            selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, ends[0]))
            asked.send(str(pid).encode())


def _become(told: Mapping[str, Any], not_its_own: list[int]) -> None:
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for handle in not_its_own:
            os.close(handle)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.environ.clear()
        os.environ.update(told["environ"])
        sys.argv = [told["module"], *told["arguments"]]
        importlib.import_module(told["module"]).main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001  # whatever ends it, the fork must not go on as its parent
        traceback.print_exc()
    finally:
        from tests.faults.warm import leave

        leave(code)


if __name__ == "__main__":
    main()
