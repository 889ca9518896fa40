"""Bringing a database to the tables of this version (Alembic)."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, inspect, text

#: the newest revision under `migrations/versions`; a test holds it true
HEAD = "0005"


def migrate(engine: Engine) -> None:
    """Upgrade to `HEAD`. Costs one read where nothing is to be done: Alembic is imported only if needed."""
    if current(engine) == HEAD:
        return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def current(engine: Engine) -> str | None:
    """The revision the database is at, None for an empty one."""
    with engine.connect() as connection, connection.begin():
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
