"""A process that has imported everything and starts bots by forking, so that a life costs no start of Python.

It has one thread when it forks; what it is told comes as lines of JSON on its standard input, what happens goes out
the same way on file descriptor `OUT`, written by it and by every bot (a line is one write, which a pipe keeps whole):

    {"start": 3, "environ": {…}, "arm": [["after", "Workers._advance"]], "nth": 1, …}
    {"signal": 3, "number": 9}

    {"life": 3, "pid": 4711}   {"life": 3, "port": 40123}   {"life": 3, "met": ["after", "Workers._advance"]}
    {"life": 3, "killed": ["after", "Workers._advance"]}   {"life": 3, "ended": -9}

When its input ends it ends every bot that is left, and itself.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from tests.faults.haste import Haste, HastyClock, HastyLoop

OUT = 3
#: what a bot imports when it is used for the first time
LATER = (
    "alembic.command",
    "anyio._backends._asyncio",
    "bot.github.kit",
    "certifi",
    "genai_prices.data_snapshot",
    "h11",
    "httpcore",
    "httpx2",
    "pydantic.dataclasses",
    "pydantic.v1",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "sqlite3",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.protocols.websockets.auto",
)
_PR_SET_PDEATHSIG = 1


def tell(**told: Any) -> None:
    """One line for whoever started us."""
    os.write(OUT, json.dumps(told).encode() + b"\n")


class Failpoints:
    """Tells of every commit boundary that a bot meets for the first time, and ends it at one that is armed."""

    def __init__(self, life: int, armed: set[tuple[str, str]], nth: int) -> None:
        self._life = life
        self._armed = armed
        self._nth = nth
        self._met: Counter[tuple[str, str]] = Counter()

    def __call__(self, when: str, name: str) -> None:
        edge = (when, name)
        self._met[edge] += 1
        if edge in self._armed and self._met[edge] >= self._nth:
            tell(life=self._life, killed=edge)
            os.kill(os.getpid(), signal.SIGKILL)
        if self._met[edge] == 1:
            tell(life=self._life, met=edge)


def live(told: Mapping[str, Any]) -> None:
    """Be a bot: `serve` as the command starts it, in haste and with failpoints."""
    import uvicorn

    import bot.app
    import bot.serving
    from bot.settings import load

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    life: int = told["start"]
    haste = Haste(told["factor"], told["began"])
    failpoints = Failpoints(life, {(when, name) for when, name in told["arm"]}, told["nth"])
    rooms = vars(bot.app)
    opened = rooms["open_store"]

    def open_armed(*args: Any, **more: Any) -> Any:
        store = opened(*args, **more)
        store.failpoint = failpoints
        return store

    hasty = partial(HastyClock, haste)
    rooms.update(SystemClock=hasty, open_store=open_armed)
    vars(bot.serving).update(SystemClock=hasty)
    loop = partial(HastyLoop, haste.factor)
    uvicorn.Config.get_loop_factory = lambda _self: loop  # type: ignore[assignment,method-assign]
    settings, _ = load(told["environ"], None)
    bot.serving.serve(
        settings,
        at=bot.serving.Listening("127.0.0.1", 0, lambda port: tell(life=life, port=port)),
        environ={"PATH": os.environ["PATH"]},
    )


def leave(code: int) -> NoReturn:
    """End a fork as Python ends a process: a thread that is left, and is no daemon, keeps it."""
    threading._shutdown()  # type: ignore[attr-defined]  # what multiprocessing calls at the same place
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Take orders until the input ends."""
    for name in LATER:
        importlib.import_module(name)
    import bot.serving  # noqa: F401  # for the bots that are forked from here
    from bot.workflows import builtin_files, check

    check({}, builtin_files())  # makes the validators of the language
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ, None)
    lives: dict[int, int] = {}
    pending = b""
    tell(life=0, ready=len(os.listdir("/proc/self/task")))
    while True:
        for key, _ in selector.select():
            if key.data is None:
                got = os.read(0, 65_536)
                if not got:
                    for pid in lives.values():
                        os.kill(pid, signal.SIGKILL)
                        os.waitpid(pid, 0)
                    return
                *lines, pending = (pending + got).split(b"\n")
                for line in lines:
                    _obey(json.loads(line), lives, selector)
            else:
                life = key.data
                _, status = os.waitpid(lives.pop(life), 0)
                selector.unregister(key.fileobj)
                os.close(key.fd)
                tell(life=life, ended=os.waitstatus_to_exitcode(status))


def _obey(told: Mapping[str, Any], lives: dict[int, int], selector: selectors.BaseSelector) -> None:
    if "start" in told:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                selector.close()
                devnull = os.open(os.devnull, os.O_RDONLY)
                os.dup2(devnull, 0)
                log = os.open(told["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.dup2(log, 1)
                os.dup2(log, 2)
                live(told)
                code = 0
            except BaseException:  # noqa: BLE001  # whatever ends it, the fork must not go on as its parent
                traceback.print_exc()
            finally:
                leave(code)
        lives[told["start"]] = pid
        selector.register(os.pidfd_open(pid), selectors.EVENT_READ, told["start"])
        tell(life=told["start"], pid=pid)
    elif told["signal"] in lives:
        os.kill(lives[told["signal"]], told["number"])


if __name__ == "__main__":
    main()
