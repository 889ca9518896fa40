"""What an attempt waits for in the outbox, and who is woken when the last of it is settled."""

from __future__ import annotations

from sqlmodel import Session, col, select

from bot.model.state import OutboxState
from bot.store import runs
from bot.store.tables import Outbox

#: states of a row that is not settled
OPEN = (OutboxState.PENDING, OutboxState.SENDING, OutboxState.UNSURE)


def any_open(session: Session, attempt_id: str) -> bool:
    """Whether something that an attempt waits for is neither posted nor dropped."""
    waiting = select(Outbox.id).where(Outbox.attempt_id == attempt_id, col(Outbox.state).in_(OPEN)).limit(1)
    return session.exec(waiting).first() is not None


def settled(session: Session, row: Outbox) -> None:
    """Wake the run whose attempt waited for this row, and for no other one that is still open."""
    session.flush()
    if row.attempt_id is None or row.run_id is None or any_open(session, row.attempt_id):
        return
    runs.wake(session, row.run_id)
