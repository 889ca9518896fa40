"""Rows that a question is answered with are rows of their session: found, changed, deleted and undone as any other."""

from __future__ import annotations

import pytest
from sqlalchemy import and_, func, inspect, literal, select
from sqlalchemy.orm import aliased
from sqlmodel import col

from bot.model.state import RunState
from bot.store import Session, Store, objects, runs
from bot.store.objects import Question
from bot.store.tables import Landmark, Run, Snapshot, Thread
from bot.store.tables.row import Row
from tests import rows
from tests.rows import NOW

from .drawn import House, for_every_table, table_of
from .marks import BARE_MARKS, LATER, MARKS, detail, is_clean, keep, mark, sent
from .statements import statements


def _plain(row: Row) -> str:
    """Its columns, of which 1, 1.0 and True are not the same."""
    return repr({name: getattr(row, name) for name in type(row).model_fields})


async def _is_read_as_it_was_added(store: Store, house: House) -> None:
    """Every table, whatever its columns hold."""
    *_, (table, its) = house.items()
    key = tuple(its[one.name] for one in table_of(table).primary_key)
    question = Question(
        table,
        which=lambda these: these.where(
            *(getattr(table, one.name) == its[one.name] for one in table_of(table).primary_key)
        ),
    )

    def add(session: Session) -> None:
        for one, its in house.items():
            row = one(**its)
            objects.add(session, row)
            is_clean(session, row)

    def change(session: Session) -> None:
        """Every column anew, to what was drawn."""
        (row,) = question.objects(session)
        for name, value in its.items():
            setattr(row, name, value)
        objects.save(session, row)
        is_clean(session, row)

    def forget(session: Session) -> None:
        (row,) = question.objects(session)
        session.delete(row)

    await store.write(add)
    expected = await store.read(lambda session: session.get_one(table, key))
    for _ in range(2):
        (found,) = await store.read(question.objects)
        assert type(found) is table
        assert _plain(found) == _plain(expected)
        assert found == expected
        assert inspect(found).identity == inspect(expected).identity
        await store.write(change)
    await store.write(forget)
    assert await store.read(question.objects) == []


def test_a_row_of_every_table_is_read_as_it_was_added(database: str) -> None:
    for_every_table(database, _is_read_as_it_was_added)


async def test_a_row_that_the_session_has_is_that_row_as_it_stands(store: Store) -> None:
    """What was changed in it is written before, and nothing of it is read over."""
    await store.write(keep)

    def work(session: Session) -> None:
        row = session.get_one(Landmark, "a")
        assert mark(session) is row
        row.at, row.detail = LATER, {"n": 2}
        # of somebody who wrote past the session
        assert sent(session, lambda: mark(session)) == ["UPDATE", "SELECT"]
        session.connection().execute(table_of(Landmark).update().values(detail={"n": 3}))
        assert mark(session) is row
        assert (row.at, row.detail) == (LATER, {"n": 2})

    await store.write(work)


async def test_a_row_of_a_question_is_one_of_its_session(store: Store) -> None:
    """Found by its key without asking, and its changes are flushed: those alone, and once."""
    await store.write(keep)

    def work(session: Session) -> None:
        row = mark(session)
        is_clean(session, row)
        assert sent(session, lambda: session.get(Landmark, "a")) == []
        assert session.get(Landmark, "a") is row
        assert session.scalars(select(Landmark).where(col(Landmark.name) == "a")).one() is row
        row.detail = {"n": 2}
        assert row in session.dirty
        with statements(session.connection().engine) as told:
            session.flush()
            session.flush()
        assert [one.partition(" WHERE")[0].partition("=")[0] for one in told] == ["UPDATE landmark SET detail"]

    await store.write(work)
    assert await store.read(detail) == {"n": 2}


async def test_a_row_that_nobody_looks_at_is_still_written(store: Store) -> None:
    """A session holds what was changed, and lets go of what was not."""
    await store.write(keep)

    def change(session: Session) -> None:
        mark(session).detail = {"n": 2}
        assert [one.detail for one in session.dirty] == [{"n": 2}]

    await store.write(change)
    assert await store.read(detail) == {"n": 2}

    def look(session: Session) -> None:
        mark(session)
        assert list(session.identity_map.values()) == []
        assert mark(session).detail == {"n": 2}

    await store.read(look)


@pytest.mark.parametrize("added", [False, True])
async def test_a_row_is_deleted_as_any_other(store: Store, added: bool) -> None:
    def work(session: Session) -> None:
        if added:
            row = Landmark(name="a", at=NOW)
            objects.add(session, row)
        else:
            keep(session)
            session.flush()
            session.expunge_all()
            row = mark(session)
        session.delete(row)
        assert MARKS.all(session, {"name": "a"}) == []
        assert session.get(Landmark, "a") is None
        # its key is free
        objects.add(session, Landmark(name="a", at=LATER))

    await store.write(work)
    assert await store.read(lambda session: session.get_one(Landmark, "a").at) == LATER


async def test_a_column_that_was_left_out_is_read_when_it_is_looked_at(store: Store) -> None:
    await store.write(keep)

    def work(session: Session) -> None:
        row = mark(session, BARE_MARKS)
        is_clean(session, row)
        assert inspect(row).unloaded == {"detail"}
        assert row.at == NOW
        assert sent(session, lambda: row.detail) == ["SELECT"]
        assert sent(session, lambda: row.detail) == []
        assert row.detail == {"n": 1}
        is_clean(session, row)

    await store.write(work)


async def test_a_column_that_was_left_out_can_be_changed(store: Store) -> None:
    """Without ever being read; and so can the others."""
    await store.write(keep)

    def work(session: Session) -> None:
        row = mark(session, BARE_MARKS)
        row.at = LATER
        objects.save(session, row)
        assert inspect(row).unloaded == {"detail"}
        row.detail = {"n": 2}
        assert sent(session, lambda: objects.save(session, row)) == ["UPDATE"]
        is_clean(session, row)

    await store.write(work)
    left = await store.read(lambda session: session.get_one(Landmark, "a"))
    assert (left.at, left.detail) == (LATER, {"n": 2})


async def test_what_a_row_was_read_without_comes_with_the_next_question(store: Store) -> None:
    """Whoever asked for all of it may look at it when the session is over; what was changed meanwhile stays."""
    await store.write(keep)

    def look(session: Session) -> Landmark:
        row = mark(session, BARE_MARKS)
        assert mark(session) is row
        is_clean(session, row)
        return row

    found = await store.read(look)
    assert (found.at, found.detail) == (NOW, {"n": 1})

    def change(session: Session) -> None:
        row = mark(session, BARE_MARKS)
        row.at = LATER
        session.flush()
        # of somebody who wrote past the session
        session.connection().execute(table_of(Landmark).update().values(at=NOW))
        assert mark(session) is row
        assert (row.at, row.detail) == (LATER, {"n": 1})

    await store.write(change)
    run_id = await store.write(lambda session: rows.run(session, guid="a", files={"a": "b"}).id)
    both = await store.read(lambda s: (runs.rows(s, run_id, files=False), runs.rows(s, run_id)))
    assert both[0].snapshot is both[1].snapshot
    assert both[1].snapshot.files == {"a": "b"}


async def test_another_name_of_a_table(store: Store) -> None:
    """Beside the table itself: two rows, or the same one twice."""

    def make(session: Session) -> tuple[str, str]:
        first, second = (rows.run(session, guid=guid) for guid in "ab")
        second.retry_of = first.id
        return first.id, second.id

    first, second = await store.write(make)
    other = aliased(Run)
    pairs = Question(
        Run,
        other,
        also=(col(Run.number) - col(other.number), literal("x")),
        which=lambda these: (
            these.join(other, and_(col(other.id) == func.coalesce(col(Run.retry_of), col(Run.id))))
            .where(col(Run.state) == RunState.QUEUED)
            .order_by(col(Run.id))
        ),
    )

    def look(session: Session) -> None:
        (a, a_again, none, x), (b, its_first, one, _) = pairs.all(session)
        assert (a.id, b.id, none, one, x) == (first, second, 0, 1, "x")
        assert a is a_again is its_first is session.get(Run, first)
        assert b is session.get(Run, second)
        assert pairs.objects(session) == [a, b]
        assert pairs.first(session) is a

    await store.read(look)


async def test_rows_of_several_tables_and_plain_values(store: Store) -> None:
    """In the order that they are asked for."""
    await store.write(lambda session: rows.run(session, guid="a", files={"a": "b"}) and None)
    question = Question(
        Thread,
        Snapshot,
        also=(func.length(col(Run.workflow)), col(Run.state)),
        which=lambda these: these.join(Run, col(Run.thread_id) == col(Thread.id)).join(
            Snapshot, col(Snapshot.id) == col(Run.snapshot_id)
        ),
        without=("files",),
    )

    def look(session: Session) -> None:
        ((thread, snapshot, length, state),) = question.all(session)
        assert thread is session.get(Thread, thread.id)
        assert (type(snapshot), snapshot.files, length, state) == (Snapshot, {"a": "b"}, 3, RunState.QUEUED)

    await store.read(look)
