"""Says in the log when the database begins to refuse, and when that is over: once each, however many ask meanwhile."""

from __future__ import annotations

import threading

from bot import log
from bot.model.clock import monotonic

_log = log.get("store")

_MEND = "all goes on by itself once it does not: make room on its disk, look at its server, or at who else holds it"


class Refusing:
    """Of `what` (reads, writes) of one store. Called from any thread."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._since: float | None = None
        self._lock = threading.Lock()

    def refused(self, reason: str) -> None:
        """It refuses."""
        with self._lock:
            if self._since is not None:
                return
            self._since = monotonic()
        _log.error("store_refuses", what=self._what, reason=reason, mend=_MEND)

    def answered(self) -> None:
        """It does not."""
        if self._since is None:  # as nearly always
            return
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            _log.info("store_answers", what=self._what, seconds=round(monotonic() - since, 1))
