"""Objects of a session, read and written by one statement each.

What the ORM works out for a question or a flush takes several times as long as its statements. What every step of every
run reads and writes goes past that; to the session it is a row like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Select, bindparam, insert, inspect, select, update
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import InstanceState, Mapper, class_mapper
from sqlalchemy.orm.attributes import set_committed_value
from sqlmodel import Session

from bot.store.prepared import NOTHING, Prepared
from bot.store.tables.row import Row

R = TypeVar("R", bound=Row)


class Question:
    """A question for objects of `tables` (or of another name of one), each row of which may go on with plain values."""

    def __init__(
        self,
        *tables: Any,
        which: Callable[[Select[Any]], Select[Any]],
        also: Iterable[Any] = (),
        without: Iterable[str] = (),
    ) -> None:
        """`which` says which of all rows, in which order; `also` are the plain values. No object has the columns in
        `without`: whoever looks at one has it read then.
        """
        left_out = frozenset(without)
        self._shapes = [_Shape(table, left_out) for table in tables]
        whole = (column for shape in self._shapes for column in shape.columns)
        self._prepared = Prepared(which(select(*whole, *also)))

    def all(self, session: Session, values: Mapping[str, Any] = NOTHING) -> list[Sequence[Any]]:
        """Every row: the objects, then the plain values."""
        return [self._put_together(session, row) for row in self._prepared.all(session, values)]

    def objects(self, session: Session, values: Mapping[str, Any] = NOTHING) -> list[Any]:
        """The same of a question for objects of one table."""
        return [row[0] for row in self.all(session, values)]

    def first(self, session: Session, values: Mapping[str, Any] = NOTHING) -> Any:
        """The first of these objects; None where there is none."""
        return next(iter(self.objects(session, values)), None)

    def _put_together(self, session: Session, row: Sequence[Any]) -> Sequence[Any]:
        found: list[Any] = []
        begin = 0
        for shape in self._shapes:
            end = begin + len(shape.names)
            found.append(shape.loaded(session, row[begin:end]))
            begin = end
        found += row[begin:]
        return found


def get(session: Session, table: type[R], key: str) -> R | None:
    """The row of that key, the table's only one; None where there is none."""
    known: R | None = session.identity_map.get((table, (key,), None))
    if known is not None:
        return known
    found: R | None = _by_key(table).first(session, {"key": key})
    return found


def get_one(session: Session, table: type[R], key: str) -> R:
    """The same. Raises `NoResultFound` where there is none."""
    found = get(session, table, key)
    if found is None:
        raise NoResultFound(f"there is no {table.__name__} {key}")
    return found


def put(session: Session, row: Row) -> None:
    """Write now a row that is new, or what was changed in one of this session."""
    state: InstanceState[Row] = inspect(row)
    if state.transient:
        add(session, row)
    else:
        save(session, row)


def add(session: Session, row: Row) -> None:
    """Insert a new row now. What it may refer to is written before it."""
    _inserting(type(row)).run(session, row.__dict__)
    mapper: Mapper[Any] = class_mapper(type(row))
    _attach(session, row, mapper.identity_key_from_instance(row))
    if session._transaction is not None:  # a savepoint that is gone back to takes it along
        session._transaction._new[inspect(row)] = True


def save(session: Session, row: Row) -> None:
    """Write now what was changed in a row of this session; one that is new is left to the session.

    What it refers to is in the database. Raises ValueError for a row of no session: nobody would write it.
    """
    state: InstanceState[Row] = inspect(row)
    if state.detached or state.transient:
        raise ValueError(f"a row of no session is saved: {type(row).__name__}")
    if not state.persistent:
        return
    now = row.__dict__
    values: dict[str, Any] = {name: now[name] for name, old in state.committed_state.items() if now[name] != old}
    if values:
        keys = {f"key_{place}": part for place, part in enumerate(state.identity or ())}
        _updating(type(row), frozenset(values)).run(session, values | keys)
    state._commit_all(now, session.identity_map)
    session._register_altered([state])  # a savepoint that is gone back to has it read anew


class _Shape:
    """How objects of a table are put together that have all columns but some."""

    def __init__(self, table: Any, without: frozenset[str]) -> None:
        mapper: Mapper[Any] = inspect(table).mapper
        every = mapper.class_.model_fields
        self.names = [name for name in every if name not in without]
        self.columns = [getattr(table, name) for name in self.names]
        self._new, self._whole = mapper.class_manager.new_instance, len(every)
        self._class = mapper.class_
        self._primary = [self.names.index(column.name) for column in mapper.primary_key]

    def loaded(self, session: Session, values: Sequence[Any]) -> Any:
        """The row of these columns: the object that the session has already, as it stands there, or a new one.

        What that object was not read with it has from now on.
        """
        key = (self._class, tuple([values[place] for place in self._primary]), None)
        known = session.identity_map.get(key)
        if known is not None:
            if len(known.__dict__) <= self._whole:  # it has its state, too
                for name, value in zip(self.names, values, strict=True):
                    if name not in known.__dict__:
                        set_committed_value(known, name, value)
            return known
        made = self._new()
        made.__dict__.update(zip(self.names, values, strict=True))
        _attach(session, made, key)
        return made


def _attach(session: Session, row: Row, key: Any) -> None:
    """Make a row that is in the database as it is here one of the session's.

    The session's own ways to that (`make_transient_to_detached`, then `add`) look for relations and cascades, of which
    there are none here, and take five times as long.
    """
    state: InstanceState[Row] = inspect(row)
    state.key, state.session_id = key, session.hash_key
    session.identity_map.add(state)
    state._commit_all(row.__dict__, session.identity_map)
    if len(row.__dict__) <= len(type(row).model_fields):  # it has its state, too
        state._expire_attributes(row.__dict__, state.unloaded)


@cache
def _by_key(table: type[Row]) -> Question:
    (primary,) = class_mapper(table).primary_key
    return Question(table, which=lambda these: these.where(primary == bindparam("key")))


@cache
def _inserting(table: type[Row]) -> Prepared:
    return Prepared(insert(class_mapper(table).local_table), table.model_fields)  # type: ignore[arg-type]  # as it is


@cache
def _updating(table: type[Row], names: frozenset[str]) -> Prepared:
    """Made once for each set of columns: there are about as many as there are places that change a row."""
    mapper: Mapper[Any] = class_mapper(table)
    values: dict[Any, Any] = {mapper.columns[name]: bindparam(name) for name in sorted(names)}
    made = update(mapper.local_table).values(values)  # type: ignore[arg-type]  # it is a table
    return Prepared(
        made.where(*(column == bindparam(f"key_{place}") for place, column in enumerate(mapper.primary_key)))
    )
