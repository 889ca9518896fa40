"""Objects of a session, written by one statement each.

What the ORM works out for a flush takes several times as long as its statements. What every step of every run writes
goes past that; to the session it is a row like all others.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Insert, Update, bindparam, insert, inspect, update
from sqlalchemy.orm import InstanceState, Mapper, class_mapper, make_transient, make_transient_to_detached
from sqlmodel import Session

from bot.store.tables.row import Row


def add(session: Session, row: Row) -> None:
    """Insert a new row now. What it may refer to is written before it."""
    if session.new:
        session.flush()
    values: dict[str, Any] = {name: row.__dict__[name] for name in type(row).model_fields}
    session.connection().execute(_inserting(type(row)), values)
    make_transient_to_detached(row)
    session.add(row)


def save(session: Session, row: Row) -> None:
    """Write now what was changed in a row of this session; one that is new is left to the session.

    What it refers to is in the database.
    """
    state: InstanceState[Row] = inspect(row)
    if not state.persistent:
        return
    now = row.__dict__
    values: dict[str, Any] = {name: now[name] for name, old in state.committed_state.items() if now[name] != old}
    if values:
        keys = {f"key_{place}": part for place, part in enumerate(state.identity or ())}
        session.connection().execute(_updating(type(row), frozenset(values)), values | keys)
    make_transient(row)
    make_transient_to_detached(row)
    session.add(row)


@cache
def _inserting(table: type[Row]) -> Insert:
    return insert(class_mapper(table).local_table)  # type: ignore[arg-type]  # it is a table


@cache
def _updating(table: type[Row], names: frozenset[str]) -> Update:
    """Made once for each set of columns: there are about as many as there are places that change a row."""
    mapper: Mapper[Any] = class_mapper(table)
    values: dict[Any, Any] = {mapper.columns[name]: bindparam(name) for name in sorted(names)}
    made = update(mapper.local_table).values(values)  # type: ignore[arg-type]  # it is a table
    return made.where(*(column == bindparam(f"key_{place}") for place, column in enumerate(mapper.primary_key)))
