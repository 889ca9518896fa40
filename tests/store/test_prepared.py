"""Statements that go straight to the driver: the same values in and out, and what comes before and after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from bot.model.state import RunState
from bot.store import Session, Store
from bot.store.insert import inserting
from bot.store.prepared import Prepared
from bot.store.tables import Dispatch, Landmark, Reply, Run, Thread
from bot.store.tables.row import Row
from tests import rows
from tests.rows import NOW

from .drawn import House, for_every_table, table_of

_MARK, _REPLY, _RUN, _THREAD = (table_of(row) for row in (Landmark, Reply, Run, Thread))
_KEEP = Prepared(insert(_MARK), ("name", "at", "detail"))
_AGE = Prepared(update(_MARK).where(_MARK.c.name == bindparam("called")).values(at=bindparam("at")))
_NAMES = Prepared(select(_MARK.c.name).where(_MARK.c.name.like(bindparam("like"))).order_by(_MARK.c.name))
_LATER = NOW.replace(year=2030)


def _mark(name: str) -> dict[str, Any]:
    return {"name": name, "at": NOW, "detail": {}}


def _names(session: Session, like: str = "a%") -> list[str]:
    return [name for (name,) in _NAMES.all(session, {"like": like})]


def _raw(session: Session, row: type[Row], columns: dict[str, Any]) -> list[Any]:
    """What the database itself holds, and as what."""
    table, sqlite = table_of(row), session.get_bind().dialect.name == "sqlite"
    asked = [func.quote(one) if sqlite else cast(one, Text) for one in table.columns]
    keys = [one == columns[one.name] for one in table.primary_key]
    return list(session.connection().execute(select(*asked).where(*keys)).one())


async def _goes_in_and_comes_out(store: Store, house: House) -> None:
    """By one way as by the other."""
    *others, (row, columns) = house.items()
    table = table_of(row)
    asked = select(table).where(*(one == columns[one.name] for one in table.primary_key))

    def by_session(session: Session) -> tuple[list[Any], list[Any]]:
        for other, its in others:
            session.add(other(**its))
            session.flush()
        session.add(row(**columns))
        session.flush()
        told = _raw(session, row, columns), [list(one) for one in session.connection().execute(asked)]
        session.execute(delete(table))
        return told

    def by_prepared(session: Session) -> tuple[list[Any], list[Any]]:
        assert Prepared(insert(table), columns).run(session, columns) == 1
        return _raw(session, row, columns), [list(one) for one in Prepared(asked).all(session)]

    expected = await store.write(by_session)
    # of 1, 1.0 and True, and of two zones, each is another
    assert repr(await store.write(by_prepared)) == repr(expected)
    assert repr(await store.read(lambda session: Prepared(asked).all(session))) == repr(expected[1])


def test_every_column_of_every_table_holds_what_it_holds_through_the_orm(database: str) -> None:
    for_every_table(database, _goes_in_and_comes_out)


async def test_what_is_looked_for_is_made_fit_as_what_is_written(store: Store) -> None:
    """A parameter, and a value of the statement's own."""
    await store.write(lambda session: _KEEP.run(session, _mark("a\0 \ud800 %s ? :x")))
    assert await store.read(lambda session: _names(session, "a\0 \udfff%")) == ["a\ufffd \ufffd %s ? :x"]
    own = Prepared(select(_MARK.c.at).where(_MARK.c.name == "a\0 \udc00 %s ? :x"))
    assert await store.read(own.scalar) == NOW


async def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    for bare in (NOW.replace(tzinfo=None), _LATER.replace(tzinfo=None)):
        with pytest.raises(ValueError, match="without a zone"):
            await store.write(lambda session, bare=bare: _KEEP.run(session, _mark("a") | {"at": bare}))  # type: ignore[misc]
    assert await store.read(_names) == []


async def test_one_parameter_in_two_places_among_values_of_the_statement(store: Store) -> None:
    def work(session: Session) -> list[str]:
        made = [rows.run(session, guid=guid) for guid in "ab"]
        made[1].state = RunState.RUNNING
        session.flush()
        return [run.id for run in made]

    first, second = await store.write(work)
    either = or_(_RUN.c.id == bindparam("id"), _RUN.c.retry_of == bindparam("id"))
    found = Prepared(select(_RUN.c.id, _RUN.c.state).where(either, _RUN.c.state == RunState.RUNNING))
    assert await store.read(lambda session: found.all(session, {"id": first})) == []
    assert await store.read(lambda session: found.all(session, {"id": second})) == [[second, RunState.RUNNING]]


async def test_the_first_row_and_what_it_begins_with(store: Store) -> None:
    await store.write(lambda session: _KEEP.run_each(session, [_mark("a2"), _mark("a1")]))
    assert await store.read(lambda session: _NAMES.first(session, {"like": "a%"})) == ["a1"]
    assert await store.read(lambda session: _NAMES.scalar(session, {"like": "a%"})) == "a1"
    assert await store.read(lambda session: _NAMES.first(session, {"like": "b%"})) is None
    assert await store.read(lambda session: _NAMES.scalar(session, {"like": "b%"})) is None


async def test_a_question_sees_what_its_session_has_not_written_yet(store: Store) -> None:
    """What is new, what was changed, what is gone."""
    await store.write(lambda session: _KEEP.run_each(session, [_mark("a1"), _mark("a2")]))
    times = Prepared(select(_MARK.c.at).where(_MARK.c.name == "a1"))

    def work(session: Session) -> None:
        session.add(Landmark(name="a3", at=NOW))
        assert _names(session) == ["a1", "a2", "a3"]
        session.get_one(Landmark, "a1").at = _LATER
        assert times.all(session) == [[_LATER]]
        session.delete(session.get_one(Landmark, "a2"))
        assert _names(session) == ["a1", "a3"]
        session.add(Landmark(name="a4", at=NOW))

    await store.write(work)
    assert await store.read(_names) == ["a1", "a3", "a4"]


@pytest.mark.parametrize("each", [False, True])
async def test_a_change_comes_after_what_it_may_refer_to(store: Store, each: bool) -> None:
    """A row that is new, and the key of one that is gone."""
    keep = Prepared(insert(_REPLY), [one.name for one in _REPLY.columns])

    def change(session: Session, prepared: Prepared, values: dict[str, Any]) -> int:
        return prepared.run_each(session, [values]) if each else prepared.run(session, values)

    def work(session: Session) -> None:
        session.add(Thread(**rows.thread(session).model_dump() | {"id": "t", "number": 2}))
        assert change(session, keep, {"id": "r", "thread_id": "t", "actor_id": 1, "at": NOW, "unsaid": False}) == 1
        session.add(Landmark(name="a", at=NOW, detail={"old": 1}))
        session.flush()
        session.delete(session.get_one(Landmark, "a"))
        assert change(session, _KEEP, _mark("a")) == 1

    await store.write(work)
    assert await store.read(lambda session: session.get_one(Landmark, "a").detail) == {}
    assert await store.read(lambda session: session.get_one(Reply, "r").thread_id) == "t"


async def test_how_many_rows_were_changed(store: Store) -> None:
    """Of one statement, and of all that it is done with; a row that is there already is none."""

    def work(session: Session) -> None:
        ignoring = Prepared(
            inserting(session.get_bind().dialect.name, Landmark).on_conflict_do_nothing(), ("name", "at", "detail")
        )
        aging = Prepared(update(_MARK).where(_MARK.c.name.like(bindparam("like"))).values(at=bindparam("at")))
        assert _KEEP.run(session, _mark("a1")) == 1
        assert ignoring.run(session, _mark("a1")) == 0
        assert ignoring.run_each(session, [_mark("a1"), _mark("a2"), _mark("b1")]) == 2
        assert aging.run(session, {"like": "a%", "at": _LATER}) == 2
        assert aging.run(session, {"like": "c%", "at": _LATER}) == 0
        assert aging.run_each(session, [{"like": like, "at": NOW} for like in ("a%", "b%", "c%")]) == 3
        assert aging.run_each(session, []) == 0

    await store.write(work)
    assert await store.read(_names) == ["a1", "a2"]


async def test_a_missing_parameter_is_named(store: Store) -> None:
    """By every way, before anything is sent; one too many is no matter."""
    given: dict[str, Any] = {"name": "a", "at": NOW}
    ways: Sequence[tuple[Any, str]] = (
        (lambda session: _NAMES.all(session), "like"),
        (lambda session: _NAMES.scalar(session, {"name": "a"}), "like"),
        (lambda session: _KEEP.run(session, given), "detail"),
        (lambda session: _KEEP.run_each(session, [_mark("b"), given]), "detail"),
        (lambda session: _AGE.run(session, {"called": "a"}), "at"),
    )
    for way, missing in ways:
        with pytest.raises(KeyError, match=f"^'{missing}'$"):
            await store.write(way)
    assert await store.read(lambda session: _names(session, "_")) == []
    assert await store.write(lambda session: _KEEP.run(session, _mark("a") | {"other": 1})) == 1


#: one of its columns is not the statement's to fill
_DEFAULT = Table("one", MetaData(), Column("name", Text, primary_key=True), Column("at", Integer, default=lambda: 1))


@pytest.mark.parametrize(
    "prepared",
    [
        Prepared(select(_RUN.c.id).where(_RUN.c.state.in_([RunState.QUEUED, RunState.RUNNING]))),
        Prepared(select(_RUN.c.id).where(_RUN.c.id.in_(bindparam("ids", expanding=True)))),
        Prepared(select(_RUN.c.id).where(_RUN.c.id == bindparam("id", literal_execute=True))),
        Prepared(insert(_DEFAULT), ("name",)),
    ],
    ids=["list", "expanding", "literal", "default"],
)
async def test_what_is_put_together_anew_for_each_execution_is_refused(store: Store, prepared: Prepared) -> None:
    ways: Sequence[Any] = (
        prepared.all,
        lambda session: prepared.run(session, {}),
        lambda session: prepared.run_each(session, []),
    )
    for way in ways:
        with pytest.raises(TypeError, match="put together anew for each execution"):
            await store.write(way)


async def test_in_with_a_question_is_put_together_once(store: Store) -> None:
    await store.write(lambda session: rows.run(session, guid="a") and None)
    dispatch = table_of(Dispatch)
    dispatched = select(dispatch.c.id).where(dispatch.c.actor_id == bindparam("actor"))
    found = Prepared(select(_RUN.c.id).where(_RUN.c.dispatch_id.in_(dispatched)))
    assert await store.read(lambda session: len(found.all(session, {"actor": rows.ANA.id}))) == 1
    assert await store.read(lambda session: found.all(session, {"actor": 0})) == []
