"""Rows written by one statement each: to the session, and in the database, as if the ORM had written them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from bot.model.ident import new_id
from bot.model.state import AttemptState
from bot.store import Session, Store, objects, runs
from bot.store.tables import Allowance, Attempt, Frame, Landmark
from tests import rows
from tests.rows import NOW, held

from .marks import LATER, detail, is_clean, keep, mark, sent
from .statements import statements


@contextmanager
def _statements(session: Session) -> Iterator[list[str]]:
    """What is asked of the database within, each by its first words."""
    told: list[str] = []
    with statements(session.connection().engine) as sent:
        yield told
    told += [one if one.startswith("UPDATE") else " ".join(one.split()[:3]) for one in sent]


def _attempt(session: Session) -> Attempt:
    found = runs.rows(session, rows.run(session, guid=new_id(), workflow="main").id, files=False)
    return Attempt(
        run_id=found.run.id, frame_id=found.root.id, step="s", kind="run", number=1, iteration=0, started_at=NOW
    )


def _inside(attempt: Attempt) -> Frame:
    """A frame that the attempt is in from now on."""
    frame = Frame(run_id=attempt.run_id, parent_id=attempt.frame_id, path="x")
    attempt.frame_id = frame.id
    return frame


async def test_a_new_row_is_there_at_once_and_known_to_its_session(store: Store) -> None:
    def work(session: Session) -> str:
        attempt = _attempt(session)
        attempt.route, attempt.error = {"to": "next"}, {"code": "x"}
        with _statements(session) as told:
            objects.add(session, attempt)
        assert told == ["INSERT INTO attempt"]
        assert session.get(Attempt, attempt.id) is attempt
        with _statements(session) as told:
            session.flush()
        assert told == []
        return attempt.id

    made = await store.write(work)
    kept = await store.read(lambda session: session.get_one(Attempt, made))
    assert (kept.route, kept.error, kept.started_at, kept.state) == (
        {"to": "next"},
        {"code": "x"},
        NOW,
        AttemptState.RUNNING,
    )


async def test_what_a_new_row_refers_to_is_written_before_it(store: Store) -> None:
    def work(session: Session) -> None:
        attempt = _attempt(session)
        session.add(_inside(attempt))
        with _statements(session) as told:
            objects.add(session, attempt)
        assert told == ["INSERT INTO frame", "INSERT INTO attempt"]

    await store.write(work)


async def test_only_what_was_changed_is_written_and_later_changes_are_seen(store: Store) -> None:
    def work(session: Session) -> str:
        attempt = _attempt(session)
        objects.add(session, attempt)
        attempt.output, attempt.route, attempt.number = "done", {"to": "end"}, attempt.number
        with _statements(session) as told:
            objects.save(session, attempt)
            objects.save(session, attempt)
        assert len(told) == 1
        written, _, _ = told[0].partition(" WHERE")
        assert re.findall(r"(\w+)=", written) == ["output", "route"]
        attempt.exit_code = 3
        assert attempt in session.dirty
        return attempt.id

    made = await store.write(work)
    kept = await store.read(lambda session: session.get_one(Attempt, made))
    assert (kept.output, kept.route, kept.exit_code) == ("done", {"to": "end"}, 3)


async def test_saving_one_row_leaves_another_alone(store: Store) -> None:
    def work(session: Session) -> tuple[str, str]:
        first = _attempt(session)
        second = Attempt(**{**first.model_dump(), "id": new_id(), "number": 2})
        objects.add(session, first)
        objects.add(session, second)
        first.output = "mine"
        objects.save(session, first)
        return first.id, second.id

    first, second = await store.write(work)
    assert await store.read(lambda session: session.get_one(Attempt, first).output) == "mine"
    assert await store.read(lambda session: session.get_one(Attempt, second).output) is None


async def test_what_the_session_has_not_written_yet_is_left_to_it(store: Store) -> None:
    def work(session: Session) -> str:
        attempt = _attempt(session)
        session.add(attempt)
        attempt.output = "later"
        with _statements(session) as told:
            objects.save(session, attempt)
        assert told == []
        return attempt.id

    made = await store.write(work)
    assert await store.read(lambda session: session.get_one(Attempt, made).output) == "later"


async def test_what_a_work_did_is_undone_with_it(store: Store) -> None:
    ids: list[str] = []

    def work(session: Session) -> None:
        attempt = _attempt(session)
        objects.add(session, attempt)
        ids.append(attempt.id)
        raise KeyError("it breaks")

    with pytest.raises(KeyError):
        await store.write(work)
    assert await store.read(lambda session: session.get(Attempt, ids[0])) is None


async def test_a_work_that_breaks_undoes_what_it_did_with_rows(store: Store) -> None:
    """Alone: those of the same commit stand."""
    await store.write(keep)

    def breaks(session: Session) -> None:
        row = mark(session)
        row.detail = {"n": 2}
        objects.save(session, row)
        row.at = LATER
        objects.add(session, Landmark(name="b", at=NOW))
        assert mark(session).detail == {"n": 2}
        raise KeyError("it breaks")

    def stands(session: Session) -> None:
        objects.add(session, Landmark(name="c", at=NOW))
        row = mark(session)
        row.detail = row.detail | {"m": 1}
        objects.save(session, row)

    async with held(store):
        going = [asyncio.ensure_future(store.write(work)) for work in (breaks, stands)]
        await asyncio.sleep(0)
    heard = await asyncio.gather(*going, return_exceptions=True)
    assert [type(one) for one in heard] == [KeyError, type(None)]
    left = await store.read(lambda session: [session.get(Landmark, name) for name in "abc"])
    assert [one and (one.at, one.detail) for one in left] == [(NOW, {"n": 1, "m": 1}), None, (NOW, {})]


async def test_a_savepoint_that_is_gone_back_to_takes_rows_along(store: Store) -> None:
    """What was added in it is no row any more, and what was saved in it is read anew."""
    await store.write(keep)

    def work(session: Session) -> None:
        row, new = mark(session), Landmark(name="b", at=NOW)
        savepoint = session.begin_nested()
        objects.add(session, new)
        row.detail = {"n": 2}
        objects.save(session, row)
        savepoint.rollback()
        assert new not in session
        assert session.get(Landmark, "b") is None
        assert row.detail == {"n": 1}
        with session.begin_nested():
            objects.add(session, new)
            row.detail = {"n": 3}
            objects.save(session, row)
        assert session.get(Landmark, "b") is new
        assert row.detail == {"n": 3}

    await store.write(work)
    assert await store.read(detail) == {"n": 3}


async def test_a_saved_row_is_clean(store: Store) -> None:
    """Whatever was changed, also what the session has to read first, and by whichever way it came."""
    await store.write(keep)

    def work(session: Session) -> None:
        ways: list[Callable[[], Landmark]] = [lambda: session.get_one(Landmark, "a"), lambda: mark(session)]
        for way in ways:
            session.expunge_all()
            row = way()
            for value in ({"n": 2}, None, {}):
                row.at, row.detail = LATER, value  # type: ignore[assignment]  # JSON holds nothing as well
                objects.save(session, row)
                is_clean(session, row)
                assert sent(session, session.flush) == []
                assert detail(session) == value
        session.expire(row)
        row.detail = {"n": 4}
        objects.save(session, row)
        assert not session.dirty
        assert (row.at, row.detail) == (LATER, {"n": 4})

    await store.write(work)
    assert await store.read(detail) == {"n": 4}


async def test_a_saved_row_is_found_by_all_of_its_key(store: Store) -> None:
    """Its neighbours with a part of it stay as they are."""
    key = [(number, resource) for number in (1, 2) for resource in ("core", "graphql")]

    def make(session: Session) -> None:
        for number, resource in key:
            row = Allowance(installation_id=number, resource=resource, ceiling=9, remaining=9, seen_at=NOW)
            objects.add(session, row)
            assert session.get(Allowance, (number, resource)) is row

    def change(session: Session) -> None:
        row = session.get_one(Allowance, (2, "core"))
        row.remaining = 8
        objects.save(session, row)

    await store.write(make)
    await store.write(change)
    left = await store.read(lambda session: [session.get_one(Allowance, one).remaining for one in key])
    assert left == [9, 9, 8, 9]


async def test_a_row_of_no_session_is_not_passed_over_in_silence(store: Store) -> None:
    """One that another session read, and one that nobody has added."""
    other = await store.write(lambda session: rows.run(session, guid=new_id(), workflow="main"))

    def work(session: Session) -> None:
        other.reason = "changed"
        with pytest.raises(ValueError, match="of no session is saved: Run"):
            objects.save(session, other)
        with pytest.raises(ValueError, match="of no session is saved: Attempt"):
            objects.save(session, Attempt(**_attempt(session).model_dump()))

    await store.write(work)
