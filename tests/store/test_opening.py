"""Opening: which URLs are served, and what an operator is told of one that is not."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.errors import OperatorError
from bot.store import Store, open_store
from bot.store.migrate import HEAD
from tests.databases import DATABASES


@pytest.fixture(scope="module")
def nowhere() -> str:
    """A database of the server's that does not exist, with a password."""
    return DATABASES.server.url("nowhere", user="ana:hunter22")


def test_other_databases_are_refused_with_the_way_out() -> None:
    """The message names the variable and what to use."""
    for url in ("mysql://localhost/bot", "sqlite://", "bot.db"):
        with pytest.raises(OperatorError, match="BOT_DATABASE_URL") as error:
            open_store(url)
        assert "postgresql://" in error.value.mend
        assert "sqlite:///" in error.value.mend


def test_what_cannot_be_reached_is_told_without_its_password(nowhere: str) -> None:
    """Neither where the server refuses, nor where nobody listens, nor where the URL is none."""
    refused = "postgresql://ana:hunter22@127.0.0.1:1/bot"
    for url, told in (
        (nowhere, 'role "ana" does not exist'),
        (refused, "at 127.0.0.1:1: "),
        ("postgresql://ana:hunter22@[::1", "cannot be read"),
        ("postgresql://ana:hunter22%b@localhost/bot", "cannot be read"),
        ("postgresql://ana:p@ss/hunter22:rd?%@localhost/bot", "cannot be read"),
        ("postgresql://ana@localhost/bot?pasword=hunter22", "cannot be read"),
        ("postgresql://ana:p@hunter22@127.0.0.1:1/bot", "its password has a character"),
        ("postgresql://ana:hunter22/p@127.0.0.1:1/bot", "its password has a character"),
        ("postgresql://ana:/hunter22@127.0.0.1:1/bot", "its password has a character"),
    ):
        with pytest.raises(OperatorError) as error:
            open_store(url)
        assert told in error.value.message
        assert "hunter22" not in f"{error.value.message} {error.value.mend}"
        assert ("% as %25" in error.value.mend) is ("1:1: " not in told and "role" not in told)


def test_a_database_that_cannot_hold_every_text_is_refused() -> None:
    """Its encoding is not UTF-8."""
    with DATABASES.server.empty("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0") as url:
        with pytest.raises(OperatorError, match="is encoded as LATIN1") as error:
            open_store(url)
        assert "UTF8" in error.value.mend


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_the_url_is_the_one_that_the_server_s_own_programs_take(database: str) -> None:
    """Either scheme, and every parameter: where both say something, the URL is right."""
    url = database.replace("postgresql://", "postgres://") + "&application_name=mine&options=-c%20work_mem%3D5MB"
    store = open_store(url)
    asked = "SELECT current_setting('application_name'), current_setting('work_mem')"
    assert await store.read(lambda s: tuple(s.execute(text(asked)).one())) == ("mine", "5MB")
    await store.close()


async def test_several_processes_may_start_at_once() -> None:
    """One of them makes the tables, the others wait for it."""
    opened: list[Store] = []
    with DATABASES.server.empty() as url:
        starting = [threading.Thread(target=lambda: opened.append(open_store(url))) for _ in range(4)]
        for thread in starting:
            thread.start()
        for thread in starting:
            await asyncio.to_thread(thread.join)
        assert len(opened) == 4
        versions = await opened[0].read(lambda s: s.execute(text("SELECT version_num FROM alembic_version")).all())
        assert [tuple(row) for row in versions] == [(HEAD,)]
        for store in opened:
            await store.close()


async def test_a_database_of_a_newer_version_is_left_alone(store: Store, database: str, tmp_path: Path) -> None:
    """An older program would not know what its rows mean."""
    await store.write(lambda s: s.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    with pytest.raises(OperatorError, match="newer version"):
        open_store(database)
    await store.write(lambda s: s.execute(text(f"UPDATE alembic_version SET version_num = '{HEAD}'")))
