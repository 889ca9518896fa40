"""Column types that SQLite and PostgreSQL share."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import DateTime, Dialect, String
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field


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
        return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)


class EnumText(TypeDecorator[StrEnum]):
    """A `StrEnum` as its value, so that rows can be read without our code."""

    impl = String(32)
    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

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
