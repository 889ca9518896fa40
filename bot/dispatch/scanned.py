"""A text that was found in its thread and told by a webhook too asks once, whichever is heard first.

That it was written is one request by its identity (`bot.webhook.identity`). Edits are not: a scan sees the newest text
alone, and what it was compared with may be older than what a webhook has told since.
"""

from __future__ import annotations

import json

from bot.github import parse
from bot.model.event import Event
from bot.store import Session, deliveries, threads
from bot.store.tables import Delivery


def text_before(session: Session, delivery: Delivery, event: Event) -> str | None:
    """What the text of an event is compared with, so that what was asked already is not new; None: with nothing."""
    comment_id = event.comment.id if event.comment is not None else None
    repository_id, number = event.repository.id, event.issue.number
    if delivery.origin == "scan":
        known = heard_text(session, repository_id, number, comment_id, besides=delivery.id)
        return event.old_text if known is None else known
    if event.action != "edited":
        return event.old_text
    at = (event.comment or event.issue).updated_at
    for body in deliveries.scans(session, repository_id, number, comment_id):
        payload = json.loads(body)
        found = payload.get("comment") or payload.get("issue") or payload["pull_request"]
        seen = parse.timestamp(found["updated_at"])
        if at < seen or (at == seen and (found.get("body") or "") == event.text):
            return event.text
    return event.old_text


def heard_text(
    session: Session, repository_id: int, number: int, comment_id: int | None, *, besides: str = ""
) -> str | None:
    """The newest text that we know of a comment, or (None) of a thread; None where we were never told what it asks."""
    if not deliveries.heard(session, repository_id, number, comment_id, besides=besides):
        return None
    thread = threads.find(session, repository_id, number)
    newest = threads.newest(session, thread.id, comment_id or 0) if thread is not None else None
    return "" if newest is None else newest.body
