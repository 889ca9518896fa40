"""Rows written by one statement each: to the session, and in the database, as if the ORM had written them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.model.ident import new_id
from bot.model.state import AttemptState
from bot.store import Session, Store, objects, runs
from bot.store.tables import Attempt, Frame
from tests import rows
from tests.rows import NOW
from tests.store.statements import statements


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
