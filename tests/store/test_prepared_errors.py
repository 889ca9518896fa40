"""What fails on its way straight to the driver fails as it does through SQLAlchemy, and means the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import psycopg
import pytest
from sqlalchemy import (
    Connection,
    Select,
    String,
    bindparam,
    func,
    insert,
    literal,
    literal_column,
    select,
    table,
    text,
    union_all,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.sql import Executable

from bot.errors import Transient
from bot.store import Session, Store
from bot.store.backend import Backend
from bot.store.prepared import Prepared, say
from bot.store.tables import Landmark, Reply
from bot.store.tables.cluster import WRITERS
from tests.databases import DATABASES
from tests.rows import NOW, held

from .drawn import table_of

_MARK, _REPLY = table_of(Landmark), table_of(Reply)
_SECRET = "hush-hush"
_ONLY_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
_ONLY_POSTGRESQL = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
#: where a statement of these parameters goes
Way = Callable[[Session, Executable, Mapping[str, Any]], object]


def _through_sqlalchemy(session: Session, statement: Executable, values: Mapping[str, Any]) -> object:
    """As whoever is in no hurry asks."""
    done = session.execute(statement, dict(values))
    return done.all() if done.returns_rows else None  # type: ignore[attr-defined]  # what changes rows has it, too


def _straight(session: Session, statement: Any, values: Mapping[str, Any]) -> object:
    prepared = Prepared(statement, values)
    return prepared.run(session, values) if statement.is_dml else prepared.all(session, values)


def _straight_for_each(session: Session, statement: Any, values: Mapping[str, Any]) -> object:
    if statement.is_dml:
        return Prepared(statement, values).run_each(session, [values])
    return _straight(session, statement, values)


@dataclass(frozen=True)
class Fault:
    """All that is made of an error; of one in a reading nobody asks what else it ends."""

    kind: type[DBAPIError]
    driver: type[BaseException]
    refusal: str | None
    lost: bool
    broken: bool
    ends_all: bool
    may_look_again: bool


def _met(backend: Backend, connection: Connection, error: Exception, *, writing: bool) -> Fault:
    assert isinstance(error, DBAPIError)
    assert error.orig is error.__cause__
    assert error.orig is not None
    assert _SECRET not in f"{error} {error!r}"
    lost = error.connection_invalidated
    assert connection.invalidated == lost
    return Fault(
        type(error),
        type(error.orig),
        str(backend.refusal(error) or "") or None,
        lost,
        not lost and backend.is_broken(connection),
        writing and backend.ends_all(error),
        backend.may_look_again(error),
    )


async def _fault(
    store: Store, statement: Executable, values: Mapping[str, Any], do: Literal["write", "read"] = "write"
) -> Fault:
    """What comes of a statement, by every way alike; and whoever comes next is not bothered."""
    met: list[Fault] = []

    def work(session: Session, way: Way) -> None:
        connection = session.connection()
        try:
            way(session, statement, values)
        except Exception as error:
            met.append(_met(store._backend, connection, error, writing=do == "write"))
            raise

    for way in (_through_sqlalchemy, _straight, _straight_for_each):
        with pytest.raises((Transient, DBAPIError)) as heard:
            await (store.write if do == "write" else store.read)(partial(work, way=way))
        assert heard.type is (Transient if met[0].refusal else met[0].kind)
        assert await store.write(lambda session: session.get(Landmark, "nobody")) is None
    assert met[1:] in ([met[0]] * 2, [met[0]] * 5)
    return met[0]


def _mark(name: str) -> dict[str, Any]:
    return {"name": name, "at": NOW, "detail": {"secret": _SECRET}}


def _reply(actor: int) -> dict[str, Any]:
    return {"id": "a", "thread_id": "nobody's", "actor_id": actor, "at": NOW, "unsaid": False}


async def _names(store: Store) -> list[str]:
    ours = select(_MARK.c.name).where(~_MARK.c.name.startswith(WRITERS)).order_by(_MARK.c.name)
    return await store.read(lambda session: list(session.scalars(ours)))


async def test_a_unique_key_that_is_taken(store: Store) -> None:
    await store.write(lambda session: session.add(Landmark(**_mark("a"))))
    fault = await _fault(store, insert(_MARK), _mark("a"))
    assert (fault.kind, fault.refusal, fault.ends_all) == (IntegrityError, None, False)


async def test_a_row_that_nobody_has(store: Store) -> None:
    fault = await _fault(store, insert(_REPLY), _reply(1))
    assert (fault.kind, fault.refusal, fault.ends_all) == (IntegrityError, None, False)


async def test_a_statement_that_is_wrong(store: Store) -> None:
    """It is at fault itself, whatever the driver calls that: nobody need try it again."""
    secret = literal(_SECRET) == bindparam("secret", type_=String())
    nowhere: Select[Any] = select(literal_column("nothing")).select_from(table("nowhere")).where(secret)
    for wrong in (nowhere, select(literal_column("1 1 1"))):
        fault = await _fault(store, wrong, {"secret": _SECRET})
        assert (fault.refusal, fault.ends_all) == (None, False)


async def test_a_row_that_cannot_be_worked_out(store: Store) -> None:
    """SQLite comes to it only when the rows before it have been fetched."""
    numbers = union_all(select(literal_column("1")), select(func.abs(literal_column("-9223372036854775807 - 1"))))
    fault = await _fault(store, numbers, {})
    assert (fault.refusal, fault.ends_all) == (None, False)
    assert await _fault(store, numbers, {}, "read") == fault


async def test_a_reader_cannot_write(store: Store) -> None:
    fault = await _fault(store, insert(_MARK), _mark("a"), "read")
    assert "read" in (fault.refusal or "")
    assert await _names(store) == []


@_ONLY_SQLITE
async def test_a_full_disk(store: Store) -> None:
    def pages(count: int) -> Callable[[Session], None]:
        return lambda session: say(session.connection(), f"PRAGMA max_page_count = {count}")

    await store.write(pages(1))  # as many as there are
    fault = await _fault(store, insert(_MARK), _mark("a" * 100_000))
    assert fault.refusal == "the database refuses: database or disk is full"
    assert fault.ends_all
    await store.write(pages(100_000))
    assert await store.write(lambda session: _straight(session, insert(_MARK), _mark("a"))) == 1


@_ONLY_POSTGRESQL
async def test_a_table_that_is_locked(store: Store, database: str) -> None:
    """The work may come again."""
    await store.write(lambda session: say(session.connection(), "SET lock_timeout = '1ms'"))
    unsaid = update(_REPLY).where(_REPLY.c.actor_id == bindparam("actor")).values(unsaid=bindparam("unsaid"))
    asked: dict[str, Any] = {"actor": 1, "unsaid": True}
    with psycopg.connect(database) as other:
        other.execute("LOCK TABLE reply")
        fault = await _fault(store, unsaid, asked)
        other.rollback()
    assert fault.refusal == "the database refuses: canceling statement due to lock timeout"
    assert (fault.broken, fault.ends_all) == (True, False)
    assert await store.write(lambda session: _straight(session, unsaid, asked)) == 0


@_ONLY_POSTGRESQL
async def test_a_number_that_is_too_large(store: Store) -> None:
    """The server says so; of SQLite the driver does, to everyone alike."""
    fault = await _fault(store, insert(_REPLY), _reply(2**63))
    assert (fault.refusal, fault.broken, fault.ends_all) == (None, True, False)


@_ONLY_POSTGRESQL
async def test_a_connection_that_its_own_question_ends(store: Store) -> None:
    """Writers hear that it passes; who only looks may look again."""
    end = select(func.pg_terminate_backend(func.pg_backend_pid()))
    fault = await _fault(store, end, {})
    assert (fault.lost, fault.ends_all, fault.may_look_again) == (True, True, True)
    assert (fault.refusal or "").startswith("the database refuses")
    assert await _fault(store, end, {}, "read") == replace(fault, ends_all=False)
    once = [True]
    looked = await store.read(lambda session: _straight(session, end, {}) if once and once.pop() else "again")
    assert looked == "again"


def _cut(session: Session) -> None:
    pid = session.scalar(select(func.pg_backend_pid()))
    assert DATABASES.server.execute("SELECT pg_terminate_backend(%s, 5000)", pid) == [(True,)]


def _closed(session: Session) -> None:
    driver: Any = session.connection().connection.driver_connection
    driver.close()


@_ONLY_POSTGRESQL
@pytest.mark.parametrize("loses", [_cut, _closed])
@pytest.mark.parametrize("way", [_through_sqlalchemy, _straight, _straight_for_each])
async def test_a_connection_that_is_lost_in_a_work(store: Store, way: Way, loses: Callable[[Session], None]) -> None:
    """The server ended it, or the driver did: nothing of the commit is kept, its callers hear so, the next is done."""
    met: list[Exception] = []

    def work(session: Session) -> None:
        way(session, insert(_MARK), _mark("a"))
        loses(session)
        try:
            way(session, insert(_MARK), _mark("b"))
        except Exception as error:
            met.append(error)
            raise

    async with held(store):
        going = [
            asyncio.ensure_future(store.write(one))
            for one in (work, lambda session: _straight(session, insert(_MARK), _mark("c")))
        ]
        await asyncio.sleep(0)
    heard = await asyncio.gather(*going, return_exceptions=True)
    assert [type(one) for one in heard] == [Transient, Transient]
    with pytest.raises(Transient):
        await store.write(work)  # without a savepoint
    assert [isinstance(one, DBAPIError) and one.connection_invalidated for one in met] == [True, True]
    assert await _names(store) == []
    assert await store.write(lambda session: _straight(session, insert(_MARK), _mark("d"))) == 1
    assert await _names(store) == ["d"]


async def test_one_work_whose_statement_fails_is_undone_alone(store: Store) -> None:
    """With what it did before; those before and behind it in the commit stand."""

    def adds(*names: str) -> Callable[[Session], object]:
        return lambda session: [_straight(session, insert(_MARK), _mark(name)) for name in names]

    def twice(session: Session) -> None:
        session.add(Landmark(name="by the session", at=NOW))
        _straight_for_each(session, insert(_MARK), _mark("c"))
        _straight(session, insert(_MARK), _mark("a"))

    before = store.commits
    async with held(store):
        works = [adds("a"), twice, adds("b", "b"), lambda s: _straight(s, text("SELECT nothing"), {}), adds("c")]
        going = [asyncio.ensure_future(store.write(work)) for work in works]
        await asyncio.sleep(0)
    heard = await asyncio.gather(*going, return_exceptions=True)
    assert store.commits - before == 2
    assert (heard[0], heard[4]) == ([1], [1])
    assert [type(one) for one in heard[1:3]] == [IntegrityError] * 2
    assert isinstance(heard[3], DBAPIError)
    assert await _names(store) == ["a", "c"]


async def test_a_work_that_goes_on_behind_a_statement_that_failed(store: Store) -> None:
    """PostgreSQL would undo it all and call that no error: it is told. To SQLite it is one statement that was not."""

    def goes_on(session: Session) -> str:
        _straight(session, insert(_MARK), _mark("b"))
        with suppress(IntegrityError):
            _straight(session, insert(_MARK), _mark("b"))
        return "done"

    async with held(store):
        works: list[Callable[[Session], object]] = [goes_on, lambda s: _straight(s, insert(_MARK), _mark("a"))]
        going = [asyncio.ensure_future(store.write(work)) for work in works]
        await asyncio.sleep(0)
    heard = await asyncio.gather(*going, return_exceptions=True)
    sqlite = heard[0] == "done"
    assert sqlite or isinstance(heard[0], RuntimeError)
    assert heard[1] == 1
    assert await _names(store) == (["a", "b"] if sqlite else ["a"])


async def test_within_a_savepoint_of_its_own_a_statement_may_fail(store: Store) -> None:
    def work(session: Session) -> None:
        _straight(session, insert(_MARK), _mark("a"))
        with suppress(IntegrityError), session.begin_nested():
            _straight(session, insert(_MARK), _mark("b"))
            _straight(session, insert(_MARK), _mark("a"))
        _straight(session, insert(_MARK), _mark("c"))

    await store.write(work)
    assert await _names(store) == ["a", "c"]


async def test_what_is_said_as_it_stands_fails_alike(store: Store) -> None:
    """A statement without parameters, which may have any sign in it."""

    def asked(connection: Connection) -> None:
        say(connection, "SELECT '%s %(a)s ?'")
        say(connection, "SELECT nothing FROM nowhere")

    with pytest.raises(DBAPIError, match="nowhere") as heard:
        await store.write(lambda session: asked(session.connection()))
    assert store._backend.refusal(heard.value) is None
