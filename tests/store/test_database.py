"""The writer thread: durable settings, group commit, isolation of works, bells."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import Session, SQLModel, col, func, select
from ulid import ULID

from bot.errors import OperatorError, Transient
from bot.model.ident import new_id
from bot.store import Store, deliveries, open_store
from bot.store.database import ring
from bot.store.migrate import HEAD
from bot.store.tables import Attempt, Delivery, Frame
from tests import rows
from tests.rows import delivery, locked

from .conftest import NOW


async def count(store: Store) -> int:
    return await store.read(lambda s: s.exec(select(func.count(col(Delivery.id)))).one())


async def test_the_file_is_wal_and_every_commit_is_synced(store: Store) -> None:
    """`synchronous=FULL` (2) on the connection that writes, WAL on the file."""
    assert await store.write(lambda s: s.execute(text("PRAGMA synchronous")).scalar_one()) == 2
    assert await store.write(lambda s: s.execute(text("PRAGMA journal_mode")).scalar_one()) == "wal"
    assert await store.write(lambda s: s.execute(text("PRAGMA foreign_keys")).scalar_one()) == 1


async def test_a_reader_cannot_write(store: Store) -> None:
    """Reading transactions are refused every write."""
    with pytest.raises(Exception, match="readonly"):
        await store.read(lambda s: deliveries.take(s, delivery("a"), NOW))
    assert await count(store) == 0


async def test_what_waits_is_gathered_into_few_commits(store: Store) -> None:
    """200 writers at once need far fewer than 200 commits, and each gets his own answer."""
    before = store.commits

    def take(number: int) -> Awaitable[str]:
        return store.write(lambda s: deliveries.take(s, delivery(f"g{number}"), NOW))

    answers = await asyncio.gather(*map(take, range(200)))
    assert answers == ["accepted"] * 200
    assert store.commits - before < 60
    assert await count(store) == 200


async def test_one_failing_work_undoes_only_itself(store: Store) -> None:
    """An exception goes to its caller; works of the same commit stand."""

    def fails(session: Session) -> None:
        deliveries.take(session, delivery("bad"), NOW)
        raise ValueError("mine alone")

    first, second, third = await asyncio.gather(
        store.write(lambda s: deliveries.take(s, delivery("a"), NOW)),
        store.write(fails),
        store.write(lambda s: deliveries.take(s, delivery("b"), NOW)),
        return_exceptions=True,
    )
    assert (first, third) == ("accepted", "accepted")
    assert isinstance(second, ValueError)
    assert await count(store) == 2


async def test_a_bell_rings_after_the_commit_and_not_for_undone_work(store: Store) -> None:
    """Whoever is woken sees the row; a failed work wakes nobody."""
    bell = store.bell("queue")

    def fails(session: Session) -> None:
        ring(session, "queue")
        raise ValueError

    with pytest.raises(ValueError):
        await store.write(fails)
    assert bell.count == 0
    await store.write(lambda s: ring(s, "queue"))
    assert bell.count == 1
    await asyncio.wait_for(bell.wait(0), 5)


async def test_what_was_answered_survives_in_another_process_view(tmp_path: Path) -> None:
    """A second opening of the file sees what the first was answered for, and migrates nothing again."""
    url = f"sqlite:///{tmp_path / 'bot.db'}"
    first = open_store(url)
    await first.write(lambda s: deliveries.take(s, delivery("a"), NOW))
    second = open_store(url)
    assert await count(second) == 1
    await second.close()
    await first.close()


async def test_ids_go_on_behind_the_newest_of_the_database(tmp_path: Path) -> None:
    """Also where the clock of the process before was ahead: a run walks on from its newest attempt."""
    url = f"sqlite:///{tmp_path / 'bot.db'}"
    ahead = str(ULID.from_int(int(ULID.from_str(new_id())) + 2**93))

    def begin(session: Session) -> None:
        run = rows.run(session, guid="a")
        frame = session.exec(select(Frame).where(Frame.run_id == run.id)).one()
        attempt = Attempt(id=ahead, run_id=run.id, frame_id=frame.id, step="one", kind="run", number=1, started_at=NOW)
        session.add(attempt)

    first = open_store(url)
    await first.write(begin)
    await first.close()
    assert new_id() < ahead
    await open_store(url).close()
    assert new_id() > ahead


async def test_migrations_give_exactly_the_tables_of_the_code(store: Store) -> None:
    """Autogeneration finds nothing to do, and `HEAD` is the newest revision."""
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    import bot.store.migrate as place

    def differences(session: Session) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(session.connection()), SQLModel.metadata))

    assert await store.write(differences) == []
    config = Config()
    config.set_main_option("script_location", str(Path(place.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_other_databases_are_refused_with_the_way_out() -> None:
    """The message names the variable and what to use."""
    with pytest.raises(OperatorError, match="BOT_DATABASE_URL") as error:
        open_store("mysql://localhost/bot")
    assert "sqlite:///" in error.value.mend


async def test_a_database_that_refuses_is_a_fault_that_passes(store: Store) -> None:
    """Every caller of that commit hears it as `Transient`, nothing is kept of it, and later it works."""
    async with locked(store):
        heard = await asyncio.gather(
            *(store.write(lambda s, g=guid: deliveries.take(s, delivery(g), NOW)) for guid in "ab"),  # type: ignore[misc]
            return_exceptions=True,
        )
        assert [str(error) for error in heard if isinstance(error, Transient)] == [
            "the database refuses: database is locked"
        ] * 2
    with pytest.raises(Transient, match="the database refuses: attempt to write a readonly database"):
        await store.read(lambda s: deliveries.take(s, delivery("a"), NOW))
    assert await count(store) == 0
    assert await store.write(lambda s: deliveries.take(s, delivery("a"), NOW)) == "accepted"
