"""The outbox as a sender claims from it, one row at a time and without a pace."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bot.store import Session, outbox
from bot.store.outbox import Saying


def claim_next(session: Session, owner: str, now: datetime, **bounds: Any) -> Saying | None:
    """What is next, in the hands of `owner`; the bounds are those of `outbox.following`."""
    for found in outbox.following(session, now, 1, **bounds):
        outbox.take(session, found.row, owner, now)
        return found
    return None
