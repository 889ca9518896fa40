"""The run context as rows: what each step wrote, in which frame, and which of it is the newest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Table, bindparam, func, insert, select
from sqlmodel import Session, col

from bot.store.prepared import Prepared
from bot.store.tables import Frame, Value

#: `Frame.cursor` of an element's frames when the element is over
OVER = "over"


class Written(NamedTuple):
    """An entry of the run context: a row of `value`. None ever changes, so it need be no object of a session."""

    id: str
    run_id: str
    frame_id: str
    attempt_id: str | None
    step: str
    key: str
    text: str


_VALUE: Table = Value.__table__  # type: ignore[attr-defined]  # SQLModel types no table
_KEEP = Prepared(insert(_VALUE), Written._fields)
#: made once: putting a statement together costs more than running it, and these run at every step of every run
_ALL = select(*(_VALUE.c[name] for name in Written._fields)).order_by(_VALUE.c.id)
_EVERY = Prepared(_ALL.where(_VALUE.c.run_id == bindparam("run_id")))
_NEWEST = Prepared(
    _ALL.where(
        _VALUE.c.id.in_(
            select(func.max(_VALUE.c.id))
            .where(
                _VALUE.c.run_id == bindparam("run_id"),
                _VALUE.c.frame_id.not_in(
                    select(col(Frame.id)).where(col(Frame.run_id) == bindparam("run_id"), col(Frame.cursor) == OVER)
                ),
            )
            .group_by(_VALUE.c.frame_id, _VALUE.c.key, _VALUE.c.step)
        )
    )
)


def newest(session: Session, run_id: str) -> list[Written]:
    """Of each key the newest value of every step that wrote it in each frame, oldest first.

    Nobody looks at what was written for an element that is over: its result is all that is left of it.
    """
    return _entries(session, _NEWEST, run_id)


def every(session: Session, run_id: str) -> list[Written]:
    """Everything that was ever written, oldest first."""
    return _entries(session, _EVERY, run_id)


def _entries(session: Session, question: Prepared, run_id: str) -> list[Written]:
    return [Written(*row) for row in question.all(session, {"run_id": run_id})]


def keep(session: Session, values: Sequence[Written]) -> None:
    """Add entries. Their frames and attempts are in the database."""
    if values:
        _KEEP.run_each(session, [value._asdict() for value in values])
