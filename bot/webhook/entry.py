"""What is kept of what came in, once it is known to be GitHub's: by its signature, or because GitHub's API told it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bot.model.delivery import NewDelivery, Origin
from bot.model.event import HANDLED, INSTALLATION_EVENTS
from bot.webhook.identity import content_key, repository_id, subject


def admit(
    payload: Mapping[str, Any],
    text: bytes,
    *,
    guid: str,
    event: str,
    headers: Mapping[str, str],
    app_id: int,
    handled: Mapping[str, Collection[str]] = HANDLED,
    origin: Origin = "webhook",
) -> NewDelivery | None:
    """The delivery of a payload; None for an event that nobody acts on, or that the body does not fit.

    `text` is the payload's JSON as it is kept; the identities go by what it says, not by its bytes, so that a payload
    from GitHub's log and the body that was sent are the same. `headers` are those of the request, in lower case.
    """
    action = payload.get("action", "")  # a push has none
    if not isinstance(action, str) or action not in handled.get(event, ()):
        return None
    about, repository = subject(payload), repository_id(payload)
    if about is not None and about[0] in INSTALLATION_EVENTS:
        repository = 0  # it is about an account, or about several
    if about is None or about[0] != event or repository is None:
        # the header is not signed: a body under a header that does not fit it means nothing
        return None
    kept = {name: value for name, value in headers.items() if name.startswith("x-github-")}
    return NewDelivery(app_id, guid, event, action, content_key(payload), repository, text, kept, origin)
