"""That tests share what they may, and no more."""

from __future__ import annotations

import gc
import ssl
from pathlib import Path

from httpx import create_ssl_context
from sqlalchemy import Engine, create_engine, text

from bot.store.postgres import Postgres
from bot.store.sqlite import Sqlite
from tests.databases import DATABASES, on_both


def compiled(engine: Engine) -> object:
    """Its cache, once it has connected."""
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    return engine._compiled_cache


@on_both
def test_stores_share_their_statements(tmp_path: Path) -> None:
    """Both kinds of engine of one store, and those of the next."""
    caches, dialects = set(), set()
    for name in ("one", "another"):
        url = DATABASES.of_folder(tmp_path / name)
        store = Sqlite(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else Postgres(url)
        for engine in (store._writer, store._reader):
            caches.add(id(compiled(engine)))
            dialects.add(id(engine.dialect))
        store.close()
    assert (len(caches), len(dialects)) == (1, 1)


def test_an_engine_that_writes_json_otherwise_shares_nothing() -> None:
    """Of two that are alike in all but one thing."""
    plain, other = create_engine("sqlite://"), create_engine("sqlite://", json_serializer=str)
    assert compiled(plain) is not compiled(other)
    assert plain.dialect is not other.dialect
    plain.dispose()
    other.dispose()


def test_authorities_are_read_once() -> None:
    """By whoever trusts the same, as httpx asks for it."""
    assert create_ssl_context() is create_ssl_context()
    assert ssl.create_default_context() is not ssl.create_default_context()


def test_what_was_collected_is_not_looked_at_again() -> None:
    """All that is imported is a lot, and none of it is garbage."""
    assert gc.isenabled()
    assert gc.get_freeze_count() > 100_000
