"""What no process is to send again, since three of them ended over it."""

from __future__ import annotations

from datetime import datetime

from bot import log
from bot.model.slot import Slot
from bot.publish.body import note_body
from bot.store import Session, outbox
from bot.store.outbox import Saying

_log = log.get("publish")

#: why it is dropped
REASON = "set aside: three processes ended while they sent it"
WORDS = (
    "Something that was to be posted here is not: the bot's process ended three times while it sent it. Its operator "
    "finds it in the log."
)
#: of what people wait for; a status or a reaction is not missed
TOLD = frozenset({"result", "output", "error", "cancelled", "command", "gate", "request", "action"})
_PURPOSE = "set_aside"


def set_aside(session: Session, saying: Saying, now: datetime) -> None:
    """Drop it, and say once, in fixed words, that it is missing."""
    row, thread = saying.row, saying.thread
    _log.error("set_aside", slot=row.slot, reason=REASON)
    outbox.drop(session, row.id, REASON, {"error": REASON})
    if row.purpose in TOLD and Slot.parse(row.slot).purpose != _PURPOSE:
        outbox.ensure(
            session,
            Slot(f"outbox/{row.id}", _PURPOSE),
            thread_id=thread.id,
            action="comment",
            purpose="error",
            body=note_body(WORDS),
            now=now,
            run_id=row.run_id,
        )
