"""Comments by version, pins, purge."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest
from sqlmodel import Session

from bot.model.thread import Comment
from bot.store import Store, threads
from tests import rows

from .conftest import NOW

COMMENT = Comment(id=5, author=rows.ANA, body="first", created_at=NOW, updated_at=NOW, url="u")


async def test_every_text_is_kept_once(store: Store) -> None:
    """Told twice is one version; an edit, even in the same second, is another."""
    where = await store.write(rows.thread)
    for comment in (COMMENT, COMMENT, replace(COMMENT, body="second")):
        await store.write(lambda s, c=comment: threads.remember(s, where.id, c, NOW))  # type: ignore[misc]  # mypy cannot infer the lambda's default
    assert [v.body for v in await store.read(lambda s: threads.versions(s, where.id))] == ["first", "second"]


async def test_a_deleted_comment_leaves_no_text_and_no_pin(store: Store) -> None:
    """Purged at once; the fact of it stays."""
    where = await store.write(rows.thread)
    await store.write(lambda s: threads.remember(s, where.id, COMMENT, NOW))
    await store.write(
        lambda s: threads.pin(s, where.id, 5, {"body": "first"}, by_id=1, by="ana", role="write", when=NOW)
    )
    gone = NOW + timedelta(minutes=1)
    await store.write(lambda s: threads.forget(s, where.id, COMMENT, gone))
    versions = await store.read(lambda s: threads.versions(s, where.id))
    assert [(v.body, v.deleted_at) for v in versions] == [("", gone)]
    assert await store.read(lambda s: threads.pins(s, where.id)) == []


async def test_pinning_twice_is_one_pin_and_native_is_another(store: Store) -> None:
    """The bot's pins and GitHub's own are told apart; taking one away leaves the other."""
    where = await store.write(rows.thread)

    async def pin(native: bool) -> bool:
        return await store.write(
            lambda s: threads.pin(s, where.id, 5, {}, by_id=1, by="ana", role="write", when=NOW, native=native)
        )

    assert [await pin(False), await pin(False), await pin(True)] == [True, False, True]
    assert await store.write(lambda s: threads.unpin(s, where.id, 5))
    assert not await store.write(lambda s: threads.unpin(s, where.id, 5))
    assert [p.native for p in await store.read(lambda s: threads.pins(s, where.id))] == [True]


async def test_a_renamed_repository_keeps_its_threads(store: Store) -> None:
    """Numeric ids are the key; the name is brought up to date."""
    before = await store.write(rows.thread)
    renamed = replace(rows.REPOSITORY, name="gadgets")
    after = await store.write(lambda s: threads.ensure(s, renamed, rows.issue(), 78))
    assert (after.id, after.name, after.installation_id) == (before.id, "gadgets", 78)


def _told(session: Session, thread_id: str) -> None:
    """Of five hundred comments, a minute apart."""
    for number in range(1, 501):
        when = NOW + timedelta(minutes=number)
        comment = replace(COMMENT, id=number, body=f"{number}", created_at=when, updated_at=when)
        threads.remember(session, thread_id, comment, when)


async def test_texts_by_time_and_by_number_are_each_given_once(store: Store) -> None:
    """What was written long ago is found by its number; what was written just now is not given twice."""
    where = await store.write(rows.thread)
    await store.write(lambda session: _told(session, where.id))
    since = NOW + timedelta(minutes=499)
    found = await store.read(lambda session: threads.versions(session, where.id, since, {2, 500}))
    assert [row.comment_id for row in found] == [2, 499, 500]
    assert await store.read(lambda session: threads.versions(session, where.id, since)) == found[1:]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_no_thread_is_walked_for_an_old_text(store: Store) -> None:
    """Of the database's own steps, which only SQLite counts, a walk takes some a thousand times so many."""
    where = await store.write(rows.thread)
    await store.write(lambda session: _told(session, where.id))

    def steps(session: Session) -> int:
        taken: list[None] = []
        connection = cast("sqlite3.Connection", session.connection().connection.dbapi_connection)

        def step() -> int:
            taken.append(None)
            return 0

        connection.set_progress_handler(step, 1)
        try:
            threads.versions(session, where.id, NOW + timedelta(minutes=499), {2, 500})
        finally:
            connection.set_progress_handler(None, 0)
        return len(taken)

    assert await store.read(steps) < 500
