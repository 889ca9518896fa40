"""What an attempt waits for in the outbox, and who is woken when the last of it is settled."""

from __future__ import annotations

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from bot.model.state import OutboxState
from bot.store import runs
from bot.store.tables import Outbox

#: states of a row that is not settled
OPEN = (OutboxState.PENDING, OutboxState.SENDING, OutboxState.UNSURE)
#: made once, for all that is settled
_WAITING = select(Outbox.id).where(Outbox.attempt_id == bindparam("attempt"), col(Outbox.state).in_(OPEN)).limit(1)


def any_open(session: Session, attempt_id: str) -> bool:
    """Whether something that an attempt waits for is neither posted nor dropped."""
    return session.exec(_WAITING, params={"attempt": attempt_id}).first() is not None


def settled(session: Session, row: Outbox) -> None:
    """Wake the run whose attempt waited for this row, and for no other one that is still open."""
    if row.attempt_id is None or row.run_id is None:
        return
    session.flush()
    if any_open(session, row.attempt_id):
        return
    runs.wake(session, row.run_id)
