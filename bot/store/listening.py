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

    def start(self, heard: Heard) -> None:
        """Listen until `stop`; from when this returns nothing is missed."""
        try:
            first = self._opened()
        except psycopg.Error:  # it was there a moment ago, and will be again
            first = None
        self._wake = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(
            target=self._run, args=(heard, self._wake[0], first), name="store-listen", daemon=True
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

    def _run(self, heard: Heard, wake: int, first: psycopg.Connection[Any] | None) -> None:
        pause = PAUSES[0]
        while not self._ending.is_set():
            try:
                with first or self._opened() as connection:
                    if first is None:
                        heard(None)  # whatever was rung before this was not heard
                    pause = PAUSES[0]
                    self._follow(connection, heard, wake)
            except (psycopg.Error, OSError) as error:
                _log.warning("listening_again", reason=str(error).strip().partition("\n")[0])
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
