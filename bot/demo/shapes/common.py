"""What all shapes share: addresses, node ids, time stamps."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import Any

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where things are: `site` serves people and git, `api` the REST API (as on GitHub Enterprise Server)."""

    site: str
    api: str


def node_id(kind: str, number: int) -> str:
    """An opaque global id."""
    return b64encode(f"0{len(kind)}:{kind}{number}".encode()).decode()


def stamp(at: datetime) -> str:
    """GitHub's time stamps: UTC, whole seconds, `Z`."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp_or_none(at: datetime | None) -> str | None:
    """The same for a time that may be missing."""
    return None if at is None else stamp(at)
