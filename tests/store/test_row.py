"""Rows are made and changed without pydantic: their defaults are, and what a table lacks is refused."""

from __future__ import annotations

import pytest
from sqlalchemy import inspect

from bot.store.tables import Attempt, Value
from bot.store.tables.row import Row


def test_a_rows_defaults() -> None:
    """Each row has its own: a made one is not shared."""
    one, other = (Attempt(run_id="r", frame_id="f", step="s", kind="run", number=1) for _ in range(2))
    assert one.id != other.id
    assert one.error == {}
    assert one.error is not other.error
    assert one.cost is None
    assert one.iteration == 0


def test_a_column_that_a_table_lacks() -> None:
    with pytest.raises(TypeError, match="Value has no column 'words'"):
        Value(words="x")  # type: ignore[call-arg]  # which is what is tested


def test_a_change_is_seen_by_the_session() -> None:
    row = Value(run_id="r", frame_id="f", attempt_id="a", step="s", key="k", text="one")
    row.text = "two"
    assert inspect(row).attrs.text.history.added == ["two"]
    assert "two" in repr(row)


def test_no_table_has_a_default_that_its_rows_would_share() -> None:
    tables = [Row]
    for table in tables:
        tables += table.__subclasses__()
        for name, field in table.model_fields.items():
            assert field.default.__hash__ is not None, f"{table.__name__}.{name}"
    assert len(tables) > 20
