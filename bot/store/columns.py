"""Column types that SQLite and PostgreSQL share."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, MetaData, String
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlmodel import Field
from sqlmodel.sql.sqltypes import AutoString

#: what PostgreSQL's text cannot hold: NUL, and halves of a character outside of the first plane
_UNFIT = re.compile("[\0\ud800-\udfff]")
#: the same in JSON; the halves of a whole character stand behind each other
_UNFIT_JSON = re.compile(
    r"\\u0000|\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}"
)


def fit(text: str) -> str:
    """The text with U+FFFD for what PostgreSQL cannot hold; on both databases, so that both keep the same."""
    return _UNFIT.sub("\ufffd", text)


def dump(value: Any) -> str:
    """JSON that both databases take: texts as `fit` makes them, None for numbers that JSON does not have."""
    try:
        text = json.dumps(value, allow_nan=False)
    except ValueError:  # NaN or an infinity
        return json.dumps(_fit_in(value))
    # what does not fit is escaped; to look for an escape at all costs a fortieth of looking for those
    return json.dumps(_fit_in(value)) if "\\u" in text and _UNFIT_JSON.search(text) else text


def _fit_in(value: Any) -> Any:
    match value:
        case str():
            return fit(value)
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {_fit_in(key): _fit_in(one) for key, one in value.items()}
        case list() | tuple():
            return [_fit_in(one) for one in value]
    return value


def _plain(dialect: Dialect, length: int | None = None) -> TypeEngine[Any]:
    """Text that is compared and ordered by its characters' numbers, as SQLite does, whatever the server's language."""
    collation = "C" if dialect.name == "postgresql" else None
    return dialect.type_descriptor(String(length, collation))


class Text(TypeDecorator[str]):
    """Text that both databases can hold and that both order alike."""

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return _plain(dialect)

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value if value is None else fit(value)


class UtcDateTime(TypeDecorator[datetime]):
    """Aware datetimes in UTC; SQLite stores them without a zone, so the zone is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a datetime without a zone cannot be stored")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


class EnumText(TypeDecorator[StrEnum]):
    """A `StrEnum` as its value, so that rows can be read without our code."""

    impl = String(32)
    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return _plain(dialect, 32)

    def process_bind_param(self, value: StrEnum | str | None, dialect: Dialect) -> str | None:
        return None if value is None else str(self.kind(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:
        return None if value is None else self.kind(value)


def moment(*, index: bool = False) -> Any:
    """An optional time."""
    return Field(default=None, sa_type=UtcDateTime, nullable=True, index=index)


def instant(*, index: bool = False) -> Any:
    """A required time."""
    return Field(sa_type=UtcDateTime, nullable=False, index=index)


def state(initial: StrEnum, *, index: bool = False) -> Any:
    """A state column of `initial`'s kind."""
    return Field(default=initial, sa_type=EnumText(type(initial)), nullable=False, index=index)


def settle_types(tables: MetaData) -> None:
    """Every text is a `Text`, and every whole number has 64 bits: GitHub's grow, and models report what they like."""
    for table in tables.tables.values():
        for column in table.columns:
            if type(column.type) is AutoString:
                column.type = Text()
            elif type(column.type) is Integer:
                # SQLite's INTEGER has them
                column.type = BigInteger().with_variant(Integer(), "sqlite")
