"""What an attempt waits for in the outbox, and who is woken when the last of it is settled."""

from __future__ import annotations

from sqlalchemy import bindparam
from sqlmodel import Session, select

from bot.model.state import OutboxState
from bot.store import runs
from bot.store.prepared import Prepared, one_of
from bot.store.tables import Outbox

#: states of a row that is not settled
OPEN = (OutboxState.PENDING, OutboxState.SENDING, OutboxState.UNSURE)
#: for all that is settled
_WAITING = Prepared(
    select(Outbox.id).where(Outbox.attempt_id == bindparam("attempt"), one_of(Outbox.state, OPEN)).limit(1)
)


def any_open(session: Session, attempt_id: str) -> bool:
    """Whether something that an attempt waits for is neither posted nor dropped."""
    return _WAITING.first(session, {"attempt": attempt_id}) is not None


def settled(session: Session, row: Outbox) -> None:
    """Wake the run whose attempt waited for this row, and for no other one that is still open."""
    if row.attempt_id is None or row.run_id is None:
        return
    if any_open(session, row.attempt_id):
        return
    runs.wake(session, row.run_id)
