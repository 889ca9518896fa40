"""Identities: ULIDs for rows, digests for content."""

from __future__ import annotations

import hashlib
import json
import threading
from datetime import datetime
from typing import Any

from ulid import ULID


class _Ids:
    """ULIDs that never sort before an earlier one of this process: rows are read in the order of their ids.

    Threads and a clock that is set back would otherwise give a later row an earlier id.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> str:
        with self._lock:
            self._last = max(int(ULID()), self._last + 1)
            return str(ULID.from_int(self._last))

    def follow(self, last: str) -> None:
        with self._lock:
            self._last = max(int(ULID.from_str(last)), self._last)


_IDS = _Ids()


def new_id() -> str:
    """A fresh ULID (26 characters); sorts by time, and behind every earlier one of this process."""
    return _IDS.next()


def first_id(at: datetime) -> str:
    """What sorts before every ULID that is made at that time or later."""
    return str(ULID.from_int(max(0, int(at.timestamp() * 1000)) << 80))


def sort_behind(last: str) -> None:
    """Let every further id of this process sort behind `last`, which an earlier process made."""
    _IDS.follow(last)


def digest(*parts: str | bytes | int | None) -> str:
    """SHA-256 (hex) over the parts, each length-prefixed so that no two lists of parts collide."""
    out = hashlib.sha256()
    for part in parts:
        raw = (
            b"\xff" if part is None else part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        )
        out.update(f"{'n' if part is None else len(raw)}:".encode())
        out.update(raw)
    return out.hexdigest()


def compact(value: Any) -> str:
    """Compact JSON, keys in their order, non-ASCII kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
