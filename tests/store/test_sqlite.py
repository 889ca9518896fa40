"""SQLite: the settings that make a commit durable, and the connection that is kept to write."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlmodel import select

from bot.errors import OperatorError, Transient
from bot.store import Session, Store, open_store
from bot.store.tables import Landmark, Reply
from tests.rows import NOW, held, locked


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_the_file_is_wal_and_every_commit_is_synced(store: Store) -> None:
    """`synchronous=FULL` (2) on the connection that writes, WAL on the file."""
    assert await store.write(lambda s: s.execute(text("PRAGMA synchronous")).scalar_one()) == 2
    assert await store.write(lambda s: s.execute(text("PRAGMA journal_mode")).scalar_one()) == "wal"
    assert await store.write(lambda s: s.execute(text("PRAGMA foreign_keys")).scalar_one()) == 1


def _driver(session: Session) -> sqlite3.Connection:
    driver = session.connection().connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _adds(name: str) -> Callable[[Session], None]:
    return lambda session: session.add(Landmark(name=name, at=NOW))


async def _names(store: Store) -> list[str]:
    return await store.read(lambda session: sorted(session.scalars(select(Landmark.name))))


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_the_connection_that_writes_is_kept_through_all_that_it_is_refused(store: Store, database: str) -> None:
    """A disk that is full, one that fails at the COMMIT, a lock, a work that breaks: the next write is done over it."""

    def pages(count: int) -> Callable[[Session], object]:
        return lambda session: session.execute(text(f"PRAGMA max_page_count = {count}")).scalar_one()

    def breaks(session: Session) -> None:
        _adds("lost")(session)
        session.flush()
        raise ZeroDivisionError

    used = await store.write(_driver)
    await store.write(pages(1))  # as many as there are
    for _ in range(2):
        with pytest.raises(Transient, match="disk is full"):
            await store.write(_adds("much" * 25_000))
        assert not used.in_transaction
        await store.write(_adds("a"))
        await store.write(lambda session: session.delete(session.get_one(Landmark, "a")))
    await store.write(pages(100_000))
    await store.write(_adds("a"))
    with _no_larger(Path(database.removeprefix("sqlite:///") + "-wal")):
        for _ in range(2):
            with pytest.raises(Transient, match="disk I/O error"):
                await store.write(_adds("late"))
            assert not used.in_transaction
    async with locked(store):
        for _ in range(2):
            with pytest.raises(Transient, match="is locked"):
                await store.write(_adds("locked"))
            assert not used.in_transaction
    await store.write(_adds("b"))
    with pytest.raises(ZeroDivisionError):
        await store.write(breaks)
    await store.write(_adds("c"))
    assert await _names(store) == ["a", "b", "c"]
    assert await store.write(_driver) is used


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("goes_on", [False, True])
async def test_a_disk_that_is_full_in_one_work_undoes_all_of_its_commit(store: Store, *, goes_on: bool) -> None:
    """SQLite has undone what the works before it did: nobody is told that it is done, and none behind it is done."""

    def much(session: Session) -> None:
        with suppress(OperationalError) if goes_on else nullcontext():
            session.connection().execute(insert(Landmark).values(name="much" * 25_000, at=NOW, detail={}))

    await store.write(lambda session: session.execute(text("PRAGMA max_page_count = 1")).scalar_one())
    async with held(store):
        going = [asyncio.ensure_future(store.write(work)) for work in (_adds("a"), much, _adds("b"))]
        await asyncio.sleep(0)
    heard = await asyncio.gather(*going, return_exceptions=True)
    assert [type(one) for one in heard] == [RuntimeError if goes_on else Transient] * 3
    assert await _names(store) == []
    await store.write(_adds("c"))
    assert await _names(store) == ["c"]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_a_commit_that_is_refused_leaves_nothing_open(store: Store) -> None:
    """One that SQLite would let try again: the next write begins a transaction of its own."""

    def owes(session: Session) -> None:
        session.execute(text("PRAGMA defer_foreign_keys = ON"))
        session.add(Reply(thread_id="nobody's", actor_id=1, at=NOW))

    with pytest.raises(IntegrityError):
        await store.write(owes)
    await store.write(_adds("a"))
    assert await _names(store) == ["a"]


@contextmanager
def _no_larger(file: Path) -> Iterator[None]:
    """Nothing is written behind the end of this file, nor of any other that is as large."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def _open(file: Path) -> list[str]:
    """What this process has open of a database."""
    there = []
    for one in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the look itself had one open
            there.append(os.readlink(one))
    return [one for one in there if one.startswith(str(file))]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("refused", [False, True])
async def test_a_closed_store_has_nothing_open(database: str, *, refused: bool) -> None:
    """Also where it was refused last; nothing is left beside the file either."""
    file = Path(database.removeprefix("sqlite:///"))
    store = open_store(database)
    await store.write(_adds("a"))
    assert await _names(store) == ["a"]
    if refused:
        async with locked(store):
            with pytest.raises(Transient):
                await store.write(_adds("b"))
    assert str(file) in _open(file)
    await store.close()
    assert _open(file) == []
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_a_file_that_is_no_database_is_told_in_a_sentence(tmp_path: Path) -> None:
    """As every other file that cannot be opened."""
    (tmp_path / "bot.db").write_text("not a database, but long enough to be looked at as one\n" * 20)
    with pytest.raises(OperatorError, match=r"cannot open .*bot\.db: file is not a database"):
        open_store(f"sqlite:///{tmp_path / 'bot.db'}")


def test_a_migration_that_breaks_is_not_said_to_be_the_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ours to mend, so that it stays as it is."""

    def breaks(_engine: object) -> None:
        raise IntegrityError("INSERT", None, sqlite3.IntegrityError("FOREIGN KEY constraint failed"))

    monkeypatch.setattr("bot.store.sqlite.migrate", breaks)
    with pytest.raises(IntegrityError, match="FOREIGN KEY"):
        open_store(f"sqlite:///{tmp_path / 'bot.db'}")
