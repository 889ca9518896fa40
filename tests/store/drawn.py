"""Rows of every table, drawn at random: each column holds whatever its kind may."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, LargeBinary, Table, delete
from sqlmodel import SQLModel

from bot.store import Session, Store, open_store, tables
from bot.store.columns import EnumText, Text, UtcDateTime, fit
from bot.store.tables.row import Row
from tests.rows import NOW

#: of each table the columns of one row, those first that others refer to
House = dict[type[Row], dict[str, Any]]

_CLASSES: dict[str, type[Row]] = {getattr(tables, name).__tablename__: getattr(tables, name) for name in tables.__all__}
TABLES = [_CLASSES[table.name] for table in SQLModel.metadata.sorted_tables if table.name in _CLASSES]

_WHOLE = st.integers(-(2**63), 2**63 - 1)
#: with what PostgreSQL cannot hold, and with what has a meaning to a driver
_WORDS = st.text(st.characters(codec=None, exclude_categories=()) | st.sampled_from("\0\ud800\udfff%:?'\""), max_size=9)
_ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_TIMES = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=_ZONES)  # noqa: DTZ001  # the zones are drawn
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | _WHOLE | st.floats() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=5,
)


def table_of(row: type[Row]) -> Table:
    """The table itself."""
    found: Table = row.__table__  # type: ignore[attr-defined]  # SQLModel types no table
    return found


@st.composite
def houses(draw: st.DrawFn, last: type[Row]) -> House:
    """A row of a table, as odd as may be, and plain ones of those that it refers to."""
    house: House = {}
    for row in _needed(last):
        columns = house[row] = {}
        for column in table_of(row).columns:
            plain, odd = _held(column, house)
            columns[column.name] = draw(odd) if row is last else plain
    return house


def _needed(last: type[Row]) -> list[type[Row]]:
    needed, found = {last}, {last}
    while found:
        found = {_referred(column) for row in found for column in table_of(row).columns if column.foreign_keys} - needed
        needed |= found
    return [row for row in TABLES if row in needed]


def _referred(column: Column[Any]) -> type[Row]:
    (key,) = column.foreign_keys
    return _CLASSES[key.column.table.name]


def _held(column: Column[Any], house: House) -> tuple[Any, st.SearchStrategy[Any]]:
    """A plain value of this column, and all that it may hold."""
    if column.foreign_keys:
        (key,) = column.foreign_keys
        plain = house[_referred(column)][key.column.name]
        odd: st.SearchStrategy[Any] = st.just(plain)
    else:
        plain, odd = _of_kind(column)
    return (None, st.none() | odd) if column.nullable else (plain, odd)


def _of_kind(column: Column[Any]) -> tuple[Any, st.SearchStrategy[Any]]:
    match column.type:
        case Text():
            # what a session knows a row by is what the database knows it by
            return "x", _WORDS.map(fit) if column.primary_key else _WORDS
        case EnumText(kind=kind):
            return next(iter(kind)), st.sampled_from([*kind, *(one.value for one in kind)])
        case UtcDateTime():
            return NOW, _TIMES
        case JSON():
            return {}, _JSON
        case LargeBinary():
            return b"", st.binary(max_size=9)
        case Boolean():
            return False, st.booleans()
        case Float():
            # SQLite takes what is no number for NULL
            return 0.0, st.floats(allow_nan=False) | st.integers(-9, 9)
        case BigInteger():
            return 0, _WHOLE
    raise AssertionError(f"nobody knows what {column} may hold")


def _clear(kinds: Sequence[type[Row]], session: Session) -> None:
    for row in reversed(kinds):
        session.execute(delete(table_of(row)))


def for_every_table(database: str, holds: Callable[[Store, House], Coroutine[Any, Any, None]]) -> None:
    """Try it with several rows of each, one after the other in one database: there is no other in these tables."""
    with asyncio.Runner() as runner:
        store = open_store(database)
        try:
            for table in TABLES:

                @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
                @given(houses(table))
                def each(house: House) -> None:
                    runner.run(store.write(partial(_clear, list(house))))
                    runner.run(holds(store, house))

                each()
                runner.run(store.write(partial(_clear, TABLES)))
        finally:
            runner.run(store.close())
