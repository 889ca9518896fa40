"""A database of every earlier version, with rows in every table, becomes one of this version with all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import JSON, Boolean, Connection, DateTime, Engine, LargeBinary, create_engine, func, inspect, text
from sqlalchemy import select as choose
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import MetaData, Table
from sqlmodel import select

import bot.store.migrate as place
from bot.model.ident import new_id
from bot.store import open_store
from bot.store.migrate import HEAD
from bot.store.tables import Attempt, Dispatch, Frame, Outbox, Run, Thread
from tests.databases import BOTH, DATABASES, Kind

from .conftest import NOW

REVISIONS = sorted(file.name[:4] for file in (Path(place.__file__).parent / "migrations" / "versions").glob("0*.py"))
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


@pytest.fixture(params=BOTH)
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without tables, of either kind."""
    kind: Kind = request.param
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'bot.db'}"
        return
    with DATABASES.server.empty() as url:
        yield url


def engine_of(url: str) -> Engine:
    """The database without anything of the product's around it."""
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"))


def at(engine: Engine, revision: str) -> None:
    """Make it one of an earlier version, as that version's own migrations do."""
    config = Config()
    config.set_main_option("script_location", str(Path(place.__file__).parent / "migrations"))
    with engine.connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def tables(engine: Engine) -> list[Table]:
    """Every table as it stands, those first that others refer to."""
    found = MetaData()
    found.reflect(engine)
    return [table for table in found.sorted_tables if table.name != "alembic_version"]


def fill(connection: Connection, table: Table) -> None:
    """One row with something in every column that must have something."""
    given: dict[str, Any] = {}
    for column in table.columns:
        refers = next(iter(column.foreign_keys), None)
        if column.name == "state":
            given[column.name] = STATES[table.name]
        elif refers is not None and (not column.nullable or column.name in ("attempt_id", "run_id")):
            given[column.name] = connection.execute(choose(refers.column)).scalar_one()
        elif column.primary_key or (not column.nullable and column.server_default is None):
            given[column.name] = value(column.type)
    connection.execute(table.insert().values(given))


def value(kind: Any) -> object:
    """Something of a column's type."""
    match kind:
        case JSON():
            return {}
        case DateTime():
            return NOW
        case LargeBinary():
            return b""
        case Boolean():
            return False
    return 1 if kind.python_type in (int, float) else new_id()


def counted(engine: Engine) -> dict[str, int]:
    """How many rows each table has."""
    with engine.connect() as connection:
        return {
            table.name: connection.execute(choose(func.count()).select_from(table)).scalar_one()
            for table in tables(engine)
        }


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_filled_database_of_every_version_goes_on(bare: str, revision: str) -> None:
    """No row is lost, none refers to nothing, and every row can be read and written as of now."""
    engine = engine_of(bare)
    at(engine, revision)
    with engine.connect() as connection, connection.begin():
        for table in tables(engine):
            fill(connection, table)
    before = counted(engine)
    assert set(before.values()) == {1}
    store = open_store(bare)
    for kind in (Thread, Dispatch, Run, Frame, Attempt, Outbox):
        assert len(await store.read(lambda session, kind=kind: session.exec(select(kind)).all())) == 1  # type: ignore[misc]  # mypy infers no type for a default
    await store.close()
    after = counted(engine)
    assert {name: after[name] for name in before} == before
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == HEAD
    engine.dispose()


def shape(engine: Engine) -> dict[str, object]:
    """What a database holds its rows to. The order of columns means nothing, and a default for the rows there were."""
    looked = inspect(engine)

    def order(found: Iterable[object]) -> list[str]:
        return sorted(map(str, found))

    return {
        name: (
            order(
                (one["name"], str(one["type"]), getattr(one["type"], "collation", None), one["nullable"])
                for one in looked.get_columns(name)
            ),
            looked.get_pk_constraint(name)["constrained_columns"],
            order(
                (one["constrained_columns"], one["referred_table"], one["referred_columns"], one["options"])
                for one in looked.get_foreign_keys(name)
            ),
            order(one["column_names"] for one in looked.get_unique_constraints(name)),
            order((one["name"], one["column_names"], one["unique"]) for one in looked.get_indexes(name)),
        )
        for name in looked.get_table_names()
    }


async def test_an_empty_database_gets_what_all_migrations_lead_to(bare: str) -> None:
    """The same tables with the same columns, keys and indexes, at the same revision."""
    engine = engine_of(bare)
    await open_store(bare).close()
    made, revision = shape(engine), place.current(engine)
    found = MetaData()
    found.reflect(engine)
    found.drop_all(engine)
    at(engine, "head")
    assert shape(engine) == made
    assert place.current(engine) == revision == HEAD == REVISIONS[-1]
    engine.dispose()


async def test_rows_that_refer_to_nothing_are_refused_after_the_migration(bare: str) -> None:
    """Foreign keys are on again."""
    engine = engine_of(bare)
    at(engine, REVISIONS[0])
    engine.dispose()
    store = open_store(bare)
    with pytest.raises(IntegrityError, match=r"(?i)foreign key"):
        await store.write(lambda session: session.add(Frame(run_id="nobody")))
    await store.close()
