"""Who may: tokens, and the requests that were made with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.demo.records import Installation, User


@dataclass(slots=True, eq=False)
class Token:
    """A bearer token: of an installation (narrowed to repositories and permissions) or of a person."""

    value: str
    expires_at: datetime | None
    installation: Installation | None = None
    repository_ids: frozenset[int] | None = None
    permissions: Mapping[str, str] = field(default_factory=dict)
    user: User | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as the look-alike saw it, for tests that count reads and look at what tokens may do.

    `kind` is `anonymous`, `app`, `installation`, `user` or `git`; `path` is without the `/api/v3` prefix.
    """

    method: str
    path: str
    query: str
    status: int
    kind: str
    permissions: Mapping[str, str]
    repository_ids: frozenset[int] | None
    user_agent: str = ""
