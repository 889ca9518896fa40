"""The plainest of all rows, by all ways to it, and what its session makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm.attributes import instance_state
from sqlmodel import col

from bot.store import Session
from bot.store.objects import Question
from bot.store.tables import Landmark
from bot.store.tables.row import Row
from tests.rows import NOW

from .drawn import table_of
from .statements import statements

LATER = NOW.replace(year=2030)
_NAMED = col(Landmark.name) == bindparam("name")
MARKS = Question(Landmark, which=lambda these: these.where(_NAMED))
#: without what is said of them
BARE_MARKS = Question(Landmark, which=lambda these: these.where(_NAMED), without=("detail",))


def keep(session: Session) -> None:
    """The one called `a`."""
    session.add(Landmark(name="a", at=NOW, detail={"n": 1}))


def mark(session: Session, question: Question = MARKS, name: str = "a") -> Landmark:
    """That one, by a question."""
    (found,) = question.objects(session, {"name": name})
    assert isinstance(found, Landmark)
    return found


def detail(session: Session, name: str = "a") -> Any:
    """What the database holds of it."""
    marks = table_of(Landmark)
    return session.connection().execute(select(marks.c.detail).where(marks.c.name == name)).scalar()


def sent(session: Session, work: Callable[[], object]) -> list[str]:
    """What is asked of the database for something, each by its first word."""
    with statements(session.connection().engine) as told:
        work()
    return [one.split()[0] for one in told]


def is_clean(session: Session, row: Row) -> None:
    """The session has it as it is in the database, and has nothing to do for it or for another."""
    state = instance_state(row)
    assert state.persistent
    assert row in session
    assert not state.modified
    assert not state.committed_state
    assert [*session.new, *session.dirty, *session.deleted] == []
