"""Bells that other processes ring: a thread that listens on a connection of its own, and connects again."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from typing import Any

import psycopg

from bot import log
from bot.store.backend import Heard
from bot.store.refusing import Refusing

_log = log.get("store")

#: the channel that every process of a database listens on; what is said there is `<who> <bell> <bell> …`
CHANNEL = "threadsmith"
#: seconds between attempts to connect: they double from the first to the last
PAUSES = (0.1, 5.0)


class Listener:
    """Tells of what others than `name` ring.

    Source: https://www.postgresql.org/docs/current/sql-notify.html
    """

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], name: str) -> None:
        self._connect, self._name = connect, name
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._wake: tuple[int, int] | None = None

    def start(self, heard: Heard, refusing: Refusing) -> None:
        """Listen until `stop`; from when this returns nothing is missed. `refusing` is told where that is refused."""
        try:
            first = self._opened()
        except psycopg.Error:  # it was there a moment ago, and will be again
            first = None
        self._wake = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(
            target=self._run, args=(heard, refusing, self._wake[0], first), name="store-listen", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread, at once."""
        self._ending.set()
        if self._thread is None or self._wake is None:
            return
        os.write(self._wake[1], b".")
        self._thread.join()
        for end in self._wake:
            os.close(end)
        self._thread = self._wake = None

    def _opened(self) -> psycopg.Connection[Any]:
        connection = self._connect()
        connection.execute(f"LISTEN {CHANNEL}")
        return connection

    def _run(self, heard: Heard, refusing: Refusing, wake: int, first: psycopg.Connection[Any] | None) -> None:
        pause, cut = PAUSES[0], ""
        while not self._ending.is_set():
            try:
                opened = first or self._opened()
            except (psycopg.Error, OSError) as error:
                refusing.refused("listening", f"the database refuses: {_said(error)}")
            else:
                refusing.answered()
                if cut:
                    _log.info("listens_again", cut=cut)
                try:
                    with opened:
                        if first is None:
                            heard(None)  # whatever was rung before this was not heard
                        pause = PAUSES[0]
                        self._follow(opened, heard, wake)
                except (psycopg.Error, OSError) as error:  # once is nothing: the next attempt tells
                    cut = _said(error)
            first = None
            self._ending.wait(pause)
            pause = min(pause * 2, PAUSES[1])

    def _follow(self, connection: psycopg.Connection[Any], heard: Heard, wake: int) -> None:
        # not `select`, which takes no descriptor above 1023: a process with many connections has those
        either = select.poll()
        for end in (connection.fileno(), wake):
            either.register(end, select.POLLIN)
        while not self._ending.is_set():
            for notice in connection.notifies(timeout=0):
                who, *bells = notice.payload.split(" ")
                if who != self._name and bells:
                    heard(set(bells))
            either.poll()


def _said(error: Exception) -> str:
    """What a driver or the machine says, in one line."""
    return str(error).strip().partition("\n")[0]
