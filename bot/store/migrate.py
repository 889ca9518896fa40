"""Bringing a database to the tables of this version (Alembic)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, inspect, select, text
from sqlmodel import Session, SQLModel

import bot.store.tables  # noqa: F401  # registers every table
from bot.errors import OperatorError

#: the newest revision under `migrations/versions`; a test holds it true
HEAD = "0008"

#: where a database says its revision, as Alembic has it
_VERSION = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))


def migrate(engine: Engine) -> None:
    """Upgrade to `HEAD`. Costs one read where nothing is to be done, and Alembic is imported only to change tables.

    An empty database gets the tables as they are now, which is what every migration after the other leads to (a test
    holds it true): it takes a tenth of the time, and Alembic would stay in memory.

    Of several processes that come at once one does it, and the others find it done: a transaction of `engine` writes
    alone. Raises `OperatorError` for tables of a newer version.
    """
    at = current(engine) or _made(engine)
    if at == HEAD:
        return
    if at is not None and at > HEAD:
        raise OperatorError(
            f"the database is of a newer version of threadsmith (its tables are at {at}, this one's at {HEAD})",
            "start that version, or give this one a database of its own",
        )
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.connect() as connection, _tables_may_be_made_anew(connection), connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        if connection.dialect.name == "sqlite" and (
            broken := connection.execute(text("PRAGMA foreign_key_check")).all()
        ):
            raise RuntimeError(f"the migration would leave rows that refer to nothing: {broken[:5]}")


def _made(engine: Engine) -> str | None:
    """Make all tables in an empty database; the revision it then is at, which is another's if that was faster."""
    with engine.connect() as connection, connection.begin():
        if (found := _at(connection)) is not None:
            return found
        SQLModel.metadata.create_all(connection, checkfirst=False)
        _VERSION.create(connection, checkfirst=False)
        connection.execute(_VERSION.insert().values(version_num=HEAD))
    return HEAD


@contextmanager
def _tables_may_be_made_anew(connection: Connection) -> Iterator[None]:
    """SQLite changes a table by making it anew, which its foreign keys forbid where other rows refer to it.

    They are looked at as a whole before the commit. The switch works only outside of a transaction.
    Source: https://www.sqlite.org/lang_altertable.html#otheralter
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def revision(session: Session) -> str | None:
    """The revision the database is at, None for an empty one; anybody may ask at any time."""
    return _at(session.connection())


def current(engine: Engine) -> str | None:
    """The revision the database is at, None for an empty one."""
    with engine.connect() as connection, connection.begin():
        return _at(connection)


def _at(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_VERSION.name):
        return None
    return connection.execute(select(_VERSION.c.version_num)).scalar_one_or_none()
