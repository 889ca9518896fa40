"""The run context as rows: what each step wrote, in which frame, and which of it is the newest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, Table, bindparam, func, insert, select
from sqlmodel import Session, col

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
_KEEP = insert(_VALUE)
#: made once: putting a statement together costs more than running it, and these run at every step of every run
_ALL = select(*(_VALUE.c[name] for name in Written._fields)).order_by(_VALUE.c.id)
_EVERY = _ALL.where(_VALUE.c.run_id == bindparam("run_id"))
_NEWEST = _ALL.where(
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


def newest(session: Session, run_id: str) -> list[Written]:
    """Of each key the newest value of every step that wrote it in each frame, oldest first.

    Nobody looks at what was written for an element that is over: its result is all that is left of it.
    """
    return _entries(session, _NEWEST, run_id)


def every(session: Session, run_id: str) -> list[Written]:
    """Everything that was ever written, oldest first."""
    return _entries(session, _EVERY, run_id)


def _entries(session: Session, query: Select[Any], run_id: str) -> list[Written]:
    return [Written(*row) for row in session.connection().execute(query, {"run_id": run_id})]


def keep(session: Session, values: Sequence[Written]) -> None:
    """Add entries. Their frames and attempts are in the database."""
    if values:
        session.connection().execute(_KEEP, [value._asdict() for value in values])
