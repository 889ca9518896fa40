"""👀 says that something is under way: it is taken away from what asked once the end of that is seen there."""

from __future__ import annotations

from datetime import datetime

from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.store import Session, dispatches, objects, outbox, spoken
from bot.store.tables import Run

EYES = "eyes"
_TAKEN = "without "


def taken(body: str) -> str | None:
    """The reaction that a row wants to be gone; None where it wants one to stand."""
    content = body.removeprefix(_TAKEN)
    return None if content == body else content


def put_away(session: Session, run_id: str, now: datetime) -> None:
    """Take it away once every run that the same text asked for has ended, and the reactions to those ends stand.

    A run that was cancelled has none: its comment says so.
    """
    run = objects.get_one(session, Run, run_id)
    delivery_id = dispatches.get(session, run.dispatch_id).delivery_id
    row = outbox.find(session, Slot(f"dispatch/{delivery_id}", f"reaction-{EYES}"))
    if row is None or taken(row.body) is not None:
        return
    for one in dispatches.of_delivery(session, delivery_id):
        if not one.state.ended or spoken.reacting(session, one.id):
            return
    if row.state is OutboxState.PENDING and row.sent_at is None:
        outbox.drop(session, row.id, "ended before it was seen")
        return
    outbox.ensure(
        session,
        Slot.parse(row.slot),
        thread_id=row.thread_id,
        action=row.action,
        purpose=row.purpose,
        body=f"{_TAKEN}{EYES}",
        now=now,
    )
