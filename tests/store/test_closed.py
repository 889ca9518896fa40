"""A store that is closed leaves nothing in memory."""

from __future__ import annotations

import gc
from weakref import ref

import pytest
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import select

from bot.store.prepared import Prepared
from bot.store.tables import Delivery


@pytest.mark.parametrize("kind", [sqlite.dialect, postgresql.dialect])
def test_a_statement_that_was_put_together_for_a_database_goes_with_it(kind: type[Dialect]) -> None:
    """It knows its database, for what becomes of values there."""
    asked = Prepared(select(Delivery.received_at).where(Delivery.id == "a"))
    dialect = kind()
    assert asked.made(dialect) is asked.made(dialect)
    known = ref(dialect)
    del dialect
    gc.collect()
    assert known() is None
