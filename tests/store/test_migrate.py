"""A database of every earlier version, with rows in every table, becomes one of this version with all of them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlmodel import select

import bot.store.migrate as place
from bot.model.ident import new_id
from bot.store import open_store
from bot.store.migrate import HEAD
from bot.store.tables import Attempt, Dispatch, Frame, Outbox, Run, Thread

REVISIONS = sorted(file.name[:4] for file in (Path(place.__file__).parent / "migrations" / "versions").glob("0*.py"))
#: tables by what they refer to
ORDER = ("blob", "thread", "delivery", "snapshot", "dispatch", "run", "frame", "attempt", "gate", "value", "outbox")
STATES = {
    "delivery": "planned",
    "dispatch": "started",
    "run": "waiting",
    "attempt": "waiting",
    "gate": "open",
    "outbox": "posted",
    "artifact": "current",
    "export": "current",
}


def at(file: Path, revision: str) -> None:
    """A database of an earlier version, as that version's own migrations make it."""
    engine = create_engine(f"sqlite:///{file}")
    config = Config()
    config.set_main_option("script_location", str(Path(place.__file__).parent / "migrations"))
    with engine.connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def tables(db: sqlite3.Connection) -> list[str]:
    """Every table, those first that others refer to."""
    names = {row[0] for row in db.execute("select name from sqlite_master where type = 'table'")} - {"alembic_version"}
    return [*(name for name in ORDER if name in names), *sorted(names - set(ORDER))]


def fill(db: sqlite3.Connection, table: str) -> None:
    """One row with something in every column that must have something."""
    refers = {row[3]: (row[2], row[4]) for row in db.execute(f"pragma foreign_key_list({table})")}
    given: dict[str, object] = {}
    for _, name, kind, needed, default, key in db.execute(f"pragma table_info({table})").fetchall():
        if name == "state":
            given[name] = STATES[table]
        elif name in refers and (needed or name in ("attempt_id", "run_id")):
            given[name] = db.execute(f"select {refers[name][1]} from {refers[name][0]}").fetchone()[0]
        elif (needed and key) or (needed and default is None):
            given[name] = value(kind.upper())
    columns, marks = ", ".join(f'"{name}"' for name in given), ", ".join("?" * len(given))
    db.execute(f"insert into {table} ({columns}) values ({marks})", list(given.values()))


def value(kind: str) -> object:
    """Something of a column's type."""
    if "JSON" in kind:
        return "{}"
    if "DATE" in kind:
        return "2026-01-01 00:00:00.000000"
    if "BLOB" in kind:
        return b""
    return 1 if any(word in kind for word in ("INT", "BOOL", "FLOAT")) else new_id()


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_filled_database_of_every_version_goes_on(tmp_path: Path, revision: str) -> None:
    """No row is lost, none refers to nothing, and every row can be read and written as of now."""
    file = tmp_path / "bot.db"
    at(file, revision)
    with sqlite3.connect(file) as db:
        names = tables(db)
        for name in names:
            fill(db, name)
    before = dict.fromkeys(names, 1)
    store = open_store(f"sqlite:///{file}")
    for kind in (Thread, Dispatch, Run, Frame, Attempt, Outbox):
        assert len(await store.read(lambda session, kind=kind: session.exec(select(kind)).all())) == 1  # type: ignore[misc]  # mypy infers no type for a default
    await store.close()
    with sqlite3.connect(file) as db:
        assert {name: db.execute(f"select count(*) from {name}").fetchone()[0] for name in names} == before
        assert db.execute("pragma foreign_key_check").fetchall() == []
        assert db.execute("select version_num from alembic_version").fetchone() == (HEAD,)


async def test_rows_that_refer_to_nothing_are_refused_after_the_migration(tmp_path: Path) -> None:
    """Foreign keys are on again."""
    file = tmp_path / "bot.db"
    at(file, REVISIONS[0])
    store = open_store(f"sqlite:///{file}")
    with pytest.raises(Exception, match="FOREIGN KEY"):
        await store.write(lambda session: session.add(Frame(run_id="nobody")))
    await store.close()
