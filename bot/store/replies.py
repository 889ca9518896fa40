"""How often somebody was answered in words, in one thread and within a time."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete
from sqlmodel import Session, col, select

from bot.store.tables import Reply


def add(session: Session, thread_id: str, actor_id: int, now: datetime, *, unsaid: bool = False) -> None:
    """One more answer; `unsaid` for the first that is not given."""
    session.add(Reply(thread_id=thread_id, actor_id=actor_id, at=now, unsaid=unsaid))
    session.flush()


def since(session: Session, thread_id: str, actor_id: int, start: datetime) -> list[Reply]:
    """Those after `start`, oldest first; the ones before are of no use to anybody any more."""
    mine = (col(Reply.thread_id) == thread_id, col(Reply.actor_id) == actor_id)
    session.execute(delete(Reply).where(*mine, col(Reply.at) <= start))
    return list(session.exec(select(Reply).where(*mine).order_by(col(Reply.id))))
