"""How fast is written: one meter an installation, what was created in the last hour, and whom we answered in it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from bot.model.ident import new_id
from bot.store.columns import instant, moment
from bot.store.tables.row import Row


class Meter(Row, table=True):
    """What an installation may send: shared by every process, and still there after a restart."""

    installation_id: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    #: writes that may leave at once, as of `filled_at`; below 0 what was sent beyond them
    tokens: float
    filled_at: datetime = instant()
    #: GitHub said so
    blocked_until: datetime | None = moment()
    #: limits since the last success
    strikes: int = 0


class Creation(Row, table=True):
    """One request that created content. Older than an hour it counts no more, and goes with the next one."""

    __table_args__ = (Index("ix_creation_installation", "installation_id", "at"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    installation_id: int = Field(sa_type=BigInteger)
    outbox_id: str = Field(index=True)
    #: when it was sent; once GitHub has answered, when that was
    at: datetime = instant()


class Reply(Row, table=True):
    """One answer in words at somebody's word. Older than an hour it counts no more, and goes with the next one."""

    __table_args__ = (Index("ix_reply_sender", "thread_id", "actor_id", "at"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    thread_id: str = Field(foreign_key="thread.id")
    actor_id: int = Field(sa_type=BigInteger)
    at: datetime = instant()
    #: it was one too many, and not said: for an hour none is
    unsaid: bool = False
