"""The App on one account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.model.thread import Account


@dataclass(frozen=True, slots=True)
class Installation:
    """What the account granted: levels by permission (`{"issues": "write"}`), and the events that are sent.

    A suspended one hears nothing and may do nothing.
    """

    id: int
    account: Account
    permissions: Mapping[str, str]
    events: frozenset[str] = frozenset()
    suspended: bool = False
