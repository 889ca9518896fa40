"""Identities: ULIDs for rows, digests for content."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ulid import ULID


def new_id() -> str:
    """A fresh ULID (26 characters, sorts by time)."""
    return str(ULID())


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
