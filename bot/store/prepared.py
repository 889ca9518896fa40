"""Statements that are put together once, and then go straight to the database's driver.

For a small statement SQLAlchemy takes several times as long as the database: it looks for the compiled form, makes a
context and a result, and tells its listeners. What is asked at every step of every run goes past that. The tables are
still SQLModel's; the SQL and the conversions of values are SQLAlchemy's for whichever database it is (docs/adr: what is
asked often goes straight to the driver).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Dialect, or_
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlmodel import Session

_Process = Callable[[Any], Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Prepared:
    """One statement for any number of sessions, on either database; its parameters are given by name.

    A question sees what its work has done: what the session has yet to write is written first. Before a change that is
    done with what is new and what is gone, which the change may refer to. Errors are those of SQLAlchemy.
    """

    def __init__(self, statement: ClauseElement, columns: Iterable[str] = ()) -> None:
        """`columns` are those that an `insert` which names none is given."""
        self._statement, self._columns = statement, tuple(columns)

    def all(self, session: Session, values: Mapping[str, Any] = NOTHING) -> list[Sequence[Any]]:
        """Every row of a question."""
        session.flush()
        connection = session.connection()
        made, driver = self._on(connection)
        # some rows are only worked out when they are fetched, and may fail as the statement may
        return made.decoded(*send(connection, partial(_fetched, driver), made.text, made.bound(values)))

    def first(self, session: Session, values: Mapping[str, Any] = NOTHING) -> Sequence[Any] | None:
        """The first row of a question; None where there is none."""
        found = self.all(session, values)
        return found[0] if found else None

    def scalar(self, session: Session, values: Mapping[str, Any] = NOTHING) -> Any:
        """What the first row begins with; None where there is none."""
        found = self.first(session, values)
        return None if found is None else found[0]

    def run(self, session: Session, values: Mapping[str, Any]) -> int:
        """Change rows; how many there were."""
        _settle(session)
        connection = session.connection()
        made, driver = self._on(connection)
        return int(send(connection, driver.execute, made.text, made.bound(values)).rowcount)

    def run_each(self, session: Session, rows: Sequence[Mapping[str, Any]]) -> int:
        """The same with each of several sets of parameters."""
        if len(rows) == 1:
            return self.run(session, rows[0])
        _settle(session)
        connection = session.connection()
        made, driver = self._on(connection)
        return int(send(connection, partial(_changed, driver), made.text, [made.bound(values) for values in rows]))

    def _on(self, connection: Connection) -> tuple[_Made, Any]:
        """The statement as this connection's database has it, and what runs it."""
        return self.made(connection.dialect), connection.connection.driver_connection

    def made(self, dialect: Dialect) -> _Made:
        """The statement as a database has it. The dialect keeps it, as it refers to that: both go with their store."""
        known: dict[Prepared, _Made] = vars(dialect).setdefault("_prepared", {})
        made = known.get(self)
        if made is None:
            compiled = self._statement.compile(dialect=dialect, column_keys=list(self._columns) or None)
            assert isinstance(compiled, SQLCompiler)
            made = known[self] = _Made(compiled, self._statement)
        return made


class _Made:
    """A statement put together for one database: its text, and how values get in and out."""

    def __init__(self, compiled: SQLCompiler, statement: ClauseElement) -> None:
        #: columns that the statement is not given, and what they hold then
        self._defaults = {column.key: column.default for column in compiled.insert_prefetch}
        made_anew = any(default is None or not default.is_scalar for default in self._defaults.values())
        if compiled.post_compile_params or compiled.literal_execute_params or made_anew:
            raise TypeError(f"this statement is put together anew for each execution: {compiled}")
        self.text, self._dialect = compiled.string, compiled.dialect
        self._positional = compiled.positiontup is not None
        names = compiled.positiontup if compiled.positiontup is not None else list(compiled.binds)
        #: of each parameter its name, whether it is asked for, its value where not, and what becomes of one
        self._parameters = [self._parameter(name, compiled.binds[name]) for name in names]
        self._types = [column.type for column in getattr(statement, "selected_columns", ())]
        self._decoding: list[tuple[int, _Process]] | None = None

    def _parameter(self, name: str, bind: BindParameter[Any]) -> tuple[str, bool, Any, _Process | None]:
        process = bind.type.dialect_impl(self._dialect).bind_processor(self._dialect)
        default: Any = self._defaults.get(name)
        if bind.required and default is None:
            return name, True, None, process
        own = bind.effective_value if default is None else default.arg
        return name, False, own if process is None else process(own), None

    def bound(self, values: Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
        """The parameters as the driver takes them. Raises KeyError where one is missing."""
        bound = [
            (values[name] if process is None else process(values[name])) if asked else own
            for name, asked, own, process in self._parameters
        ]
        if self._positional:
            return bound
        return {name: value for (name, _, _, _), value in zip(self._parameters, bound, strict=True)}

    def decoded(self, described: Sequence[Any], rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
        """The rows that were found, as Python has their values; `described` as a cursor does it."""
        if self._decoding is None:
            self._decoding = [
                (place, process)
                for place, (kind, told) in enumerate(zip(self._types, described, strict=True))
                if (process := kind.dialect_impl(self._dialect).result_processor(self._dialect, told[1])) is not None
            ]
        found: list[Sequence[Any]] = []
        for row in rows:
            values = list(row)
            for place, process in self._decoding:
                if values[place] is not None:
                    values[place] = process(values[place])
            found.append(values)
        return found


def one_of(column: Any, values: Iterable[Any]) -> ColumnElement[bool]:
    """`IN` with a few values that are known: SQLAlchemy's own is put together anew for each execution."""
    return or_(*(column == value for value in values))


def send(connection: Connection, to: Callable[..., Any], text: str, *bound: Any) -> Any:
    """Have the driver of a connection do something with a statement; what fails is told as SQLAlchemy tells it."""
    dialect = connection.dialect
    errors: Any = dialect.loaded_dbapi.Error
    try:
        return to(text, *bound)
    except errors as error:
        lost = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
        if lost:
            connection.invalidate(error)
        hidden: Any = DBAPIError.instance(
            text, None, error, errors, hide_parameters=True, connection_invalidated=lost, dialect=dialect
        )
        raise hidden from error


def say(connection: Connection, text: str) -> None:
    """Have it run a statement without parameters, as it stands."""
    driver: Any = connection.connection.driver_connection
    send(connection, driver.execute, text)


def _fetched(driver: Any, text: str, bound: Any) -> tuple[Sequence[Any], Iterable[Sequence[Any]]]:
    cursor = driver.execute(text, bound)
    return cursor.description, cursor.fetchall()


def _changed(driver: Any, text: str, bound: Sequence[Any]) -> int:
    cursor = driver.cursor()
    cursor.executemany(text, bound)
    return int(cursor.rowcount)


def _settle(session: Session) -> None:
    if session.new or session.deleted:
        session.flush()
