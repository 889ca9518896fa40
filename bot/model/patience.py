"""How long GitHub is asked again for what nothing goes on without: a role, a file, a thread, the head of an answer."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.errors import Transient

#: counted from the first time that no answer came
PATIENCE = timedelta(minutes=15)
#: the same for a rate limit: GitHub says when it ends, and its hour must cost nobody a request
PATIENCE_LIMITED = timedelta(hours=2)
#: seconds before GitHub is asked again, at least
_SOONEST = 2.0
#: seconds; whoever names a longer wait is not silent
_NAMED_FROM = 60.0


def patience(error: Exception | None = None) -> timedelta:
    """How long GitHub is asked again after this."""
    return PATIENCE_LIMITED if isinstance(error, Transient) and error.limited else PATIENCE


def patient(since: datetime | None, now: datetime, error: Exception | None = None) -> bool:
    """Whether GitHub is asked again where it does not answer; `since` is when it first did not."""
    return since is None or now - since < patience(error)


def again_at(since: datetime, now: datetime, error: Transient) -> datetime | None:
    """When to ask GitHub again that did not answer since then; None once patience with it is over.

    The longer it takes the seldomer, and once more when patience ends.
    """
    if not patient(since, now, error):
        return None
    pause = max(_SOONEST, error.retry_after or 0.0, (now - since).total_seconds())
    return min(now + timedelta(seconds=pause), max(since + patience(error), now + timedelta(seconds=_SOONEST)))


def named(retry_after: float | None) -> timedelta:
    """What of a wait does not count, because GitHub itself asked for it."""
    return timedelta(seconds=retry_after if retry_after is not None and retry_after > _NAMED_FROM else 0.0)
