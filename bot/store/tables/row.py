"""What every table has in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlmodel import SQLModel

#: a column that may be left out: its name, what makes its value, and else its value
_Default = tuple[str, Callable[[], Any] | None, Any]


class Row(SQLModel):
    """The base of all tables. A row is made and read without being validated, so its validator is never built.

    Those of all tables would take a hundredth of a start. Making a row and setting a column, which happens at every
    step of every run, go past pydantic too: SQLAlchemy's own attributes are all that a row needs, in less than half of
    the time.
    """

    model_config = {"defer_build": True}

    def __init__(self, **columns: Any) -> None:
        """A row with these columns, the others at their defaults. Raises TypeError for one that the table lacks."""
        put = object.__setattr__
        known, defaults = _columns(type(self))
        for name, value in columns.items():
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no column {name!r}")
            put(self, name, value)
        for name, make, value in defaults:
            if name not in columns:
                put(self, name, value if make is None else make())

    if not TYPE_CHECKING:  # to which it is a method of another shape
        __setattr__ = object.__setattr__


@cache
def _columns(table: type[Row]) -> tuple[frozenset[str], Sequence[_Default]]:
    """The names of a table's columns, and those that may be left out."""
    fields = table.model_fields
    left_out: list[_Default] = [
        (name, field.default_factory, field.default)  # type: ignore[misc]  # none of ours takes the other values
        for name, field in fields.items()
        if not field.is_required()
    ]
    return frozenset(fields), left_out
