"""What is written is what is read, on both databases: odd texts, odd numbers, large ones, times, order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import BigInteger, Integer, text
from sqlmodel import Session, SQLModel, col, select

import bot.store.migrate as place
from bot.store import Store
from bot.store.columns import EnumText, Text, dump, fit
from bot.store.migrate import HEAD
from bot.store.tables import Landmark, Thread
from tests import rows

from .conftest import NOW

ODD = "a\0b \ud800 \udc00\ud800 🙂"
FIT = "a\ufffdb \ufffd \ufffd\ufffd 🙂"


async def test_texts_that_one_database_cannot_hold(store: Store) -> None:
    """NUL and lone surrogates become U+FFFD: in text, deep in JSON, and in what is looked for."""

    def write(session: Session) -> None:
        detail = {ODD: [ODD, {"deep": (ODD,)}], "nan": float("nan"), "far": float("-inf"), "fine": 1.5, "odd": ODD}
        session.add(Landmark(name=ODD, at=NOW, detail=detail))

    await store.write(write)
    found = await store.read(lambda s: s.exec(select(Landmark).where(Landmark.name == ODD)).one())
    assert found.name == FIT
    assert found.detail == {FIT: [FIT, {"deep": [FIT]}], "nan": None, "far": None, "fine": 1.5, "odd": FIT}
    named = select(Landmark.name).where(col(Landmark.detail)["odd"].as_string() == FIT)
    assert await store.read(lambda s: s.exec(named).all()) == [FIT]


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())) | st.just("\\u0000 \\ud800"))
def test_json_holds_what_text_holds(words: str) -> None:
    """Whatever is dumped reads as the text made fit, and what was fit is as it was."""
    import json

    assert json.loads(dump({words: words})) == {fit(words): fit(words)}
    fit(words).encode()
    assert fit(words) == words or any(c == "\0" or "\ud800" <= c <= "\udfff" for c in words)


async def test_numbers_beyond_32_bits(store: Store) -> None:
    """GitHub's ids are, and its numbers may be."""
    large = 2**62

    def write(session: Session) -> None:
        thread = rows.thread(session)
        thread.number = thread.issue_id = thread.next_run = large
        session.add(thread)

    await store.write(write)
    found = await store.read(lambda s: s.exec(select(Thread).where(Thread.number == large)).one())
    assert (found.issue_id, found.next_run) == (large, large)


async def test_times_come_back_in_utc(store: Store) -> None:
    """Whatever zone they were told in, to the microsecond."""
    told = datetime(2026, 11, 3, 12, 0, 0, 123456, timezone(timedelta(hours=9)))
    await store.write(lambda s: s.add(Landmark(name="a", at=told)))
    found = await store.read(lambda s: s.get_one(Landmark, "a").at)
    assert (found, found.tzinfo) == (told, UTC)
    with pytest.raises(Exception, match="without a zone"):
        await store.write(lambda s: s.add(Landmark(name="b", at=told.replace(tzinfo=None))))


async def test_text_is_ordered_by_its_characters_numbers(store: Store) -> None:
    """Not as a dictionary would."""
    names = ["Z", "a", "b-c", "bc", "é", "z"]
    await store.write(lambda s: s.add_all(Landmark(name=name, at=NOW) for name in reversed(names)))
    ordered = select(Landmark.name).where(col(Landmark.name).in_(names)).order_by(col(Landmark.name))
    assert await store.read(lambda s: s.exec(ordered).all()) == sorted(names)


async def test_migrations_give_exactly_the_tables_of_the_code(store: Store) -> None:
    """Autogeneration finds nothing to do, and `HEAD` is the newest revision."""

    def differences(session: Session) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(session.connection()), SQLModel.metadata))

    assert await store.write(differences) == []
    config = Config()
    config.set_main_option("script_location", str(Path(place.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_no_column_hangs_on_the_server_s_language_or_ends_at_32_bits(store: Store) -> None:
    """Autogeneration does not look at collations. Alembic's own table has one text, which is never ordered."""
    odd = text(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND"
        " (data_type IN ('integer', 'smallint') OR collation_name IS DISTINCT FROM 'C' AND data_type LIKE 'char%')"
    )
    assert await store.read(lambda s: [tuple(row) for row in s.execute(odd)]) == [("alembic_version", "version_num")]


def test_every_text_and_every_whole_number_is_of_those_types() -> None:
    """No table of ours may say otherwise: no 32-bit number is left, so none has to say why."""
    for table in SQLModel.metadata.tables.values():
        for column in table.columns:
            if column.type.python_type is str:
                assert isinstance(column.type, Text | EnumText), column
            if isinstance(column.type, Integer):
                assert isinstance(column.type, BigInteger), column
