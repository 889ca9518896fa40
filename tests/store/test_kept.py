"""What every column is and when it goes: the table is whole, and says so in the documentation."""

from __future__ import annotations

from sqlalchemy import JSON
from sqlmodel import SQLModel

import bot.store.tables  # noqa: F401  # registers every table
from bot.store.kept import KEPT, LOGINS, digests, going, table, whole
from bot.store.kind import Goes, What, code


def test_every_column_of_every_table_is_known() -> None:
    """A column that is added must say what it is and when it goes; one that is gone must not be named."""
    assert {name: set(found.columns.keys()) for name, found in SQLModel.metadata.tables.items()} == {
        name: set(columns) for name, columns in KEPT.items()
    }


def test_no_text_stays() -> None:
    """Whatever people, agents or commands wrote goes some time, and so does what names their bytes."""
    staying = [
        (name, column)
        for name, columns in KEPT.items()
        for column, kept in columns.items()
        if kept.what in (What.TEXT, What.DIGEST) and kept.goes is Goes.STAYS
    ]
    assert staying == []


def test_what_could_hold_any_text_is_no_figure() -> None:
    """JSON is text, or a reason stands here why it holds none."""
    plain = {
        ("export", "attempts"),  # ids
        ("landmark", "detail"),  # counts and ids, and what is being forgotten until it is
        ("schedule", "repository"),  # names as of now
    }
    odd = {
        (name, column.name)
        for name, found in SQLModel.metadata.tables.items()
        for column in found.columns
        if isinstance(column.type, JSON) and KEPT[name][column.name].what not in (What.TEXT, What.DIGEST)
    }
    assert odd == plain


def test_what_goes_becomes_empty_or_the_part_that_tells_nothing() -> None:
    """Nullable columns become null, others what is empty in them; reasons keep their code."""
    attempt = going("attempt", Goes.RUN)
    assert attempt["output"]("words") is None
    assert attempt["streams"]({"output": "abc"}) == {}
    assert attempt["error"]({"code": "budget_exceeded", "message": "words"}) == {"code": "budget_exceeded"}
    assert going("delivery", Goes.BODY)["body"](b"words") == b""
    assert going("gate", Goes.RUN)["answer"]({"by": "ana", "by_id": 11, "text": "words"}) == {"by_id": 11}
    assert going("gate", Goes.RUN)["answer"](None) is None
    assert code("input_failed: words") == "input_failed"
    assert code("interrupted") == "interrupted"
    assert code("cancelled by ana") == ""
    assert code("") == ""


def test_whole_rows_go_by_their_key() -> None:
    """A value is nothing without its text; an attempt is what was paid."""
    assert whole("value", Goes.RUN)
    assert not whole("attempt", Goes.RUN)
    assert whole("delivery", Goes.DELIVERY)
    assert not whole("delivery", Goes.BODY)


def test_digests_and_logins_name_columns() -> None:
    """What is looked through for bytes in use, and what is replaced when a person is forgotten."""
    for name, columns in digests().items():
        assert set(columns) <= set(table(name).columns.keys())
    assert set(digests()) == {"artifact", "attempt", "clone", "frame", "gate", "run"}
    for name, logins in LOGINS.items():
        assert {*logins, *logins.values()} <= set(table(name).columns.keys())
