"""The repository's limits of a day, looked at when a request is accepted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bot.model.thread import Account
from bot.store import Session, spending
from bot.workflows import Limits

#: a thread that is not there yet, on which nothing was asked
_NEW = ""


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that is reached: its key in `limits`, and what is told."""

    key: str
    told: str


def reached(
    session: Session, repository: int, thread_id: str | None, actor: Account, limits: Limits, now: datetime
) -> Reached | None:
    """The first limit that forbids another dispatch by `actor` on a thread (None: a new one); None if none does."""
    since = now - spending.DAY
    own = thread_id or _NEW
    scopes = (
        ("per_actor_day", limits.per_actor_day, None, actor.id, f"{actor.login} has used up"),
        ("per_issue_day", limits.per_issue_day, own, None, "this thread has used up"),
        ("per_repo_day", limits.per_repo_day, None, None, "this repository has used up"),
    )
    for key, limit, on, actor_id, who in scopes:
        if limit.dispatches is not None:
            asked = spending.dispatched(session, since, repository_id=repository, thread_id=on, actor_id=actor_id)
            if asked >= limit.dispatches:
                return Reached(key, f"{who} the {limit.dispatches} requests that `limits.{key}` allows in 24 hours")
        if limit.usd is not None:
            usd = spending.spent(session, since, repository_id=repository, thread_id=on, actor_id=actor_id)
            if usd >= limit.usd:
                return Reached(key, f"{who} the ${limit.usd:g} that `limits.{key}` allows in 24 hours")
    return None
