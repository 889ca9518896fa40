"""Says in the log when the database begins to refuse, and when that is over: once each, however many ask meanwhile."""

from __future__ import annotations

import threading

from bot import log
from bot.model.clock import monotonic

_log = log.get("store")

_MEND = "all goes on by itself once it does not: make room on its disk, look at its server, or at who else holds it"


class Refusing:
    """What of one store is refused: reads, writes, listening. Called from any thread.

    It begins with the first of them, and is over when none is left.
    """

    def __init__(self) -> None:
        self._refused: set[str] = set()
        self._first, self._since = "", 0.0
        self._lock = threading.Lock()

    def refused(self, what: str, reason: str) -> None:
        """It refuses `what`."""
        with self._lock:
            begins = not self._refused
            self._refused.add(what)
            if not begins:
                return
            self._first, self._since = what, monotonic()
        _log.error("store_refuses", what=what, reason=reason, mend=_MEND)

    def answered(self, what: str | None = None) -> None:
        """It does not; without `what` none of them, as whoever connected anew knows: nobody may have asked since."""
        if not self._refused if what is None else what not in self._refused:  # as nearly always
            return
        with self._lock:
            begun = bool(self._refused)
            self._refused = self._refused - {what} if what is not None else set()
            if self._refused or not begun:
                return
            first, since = self._first, self._since
        _log.info("store_answers", what=first, seconds=round(monotonic() - since, 1))
