"""Going through many rows in small transactions, so that whoever else writes hardly waits.

A sweep finds what is due by pages, in reads, and acts on it by handfuls, in writes. Whatever `act` does is right also
where it was done before or where rows changed since they were found: it can be stopped at any point and begun again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, null, update
from sqlalchemy import select as rows_of
from sqlmodel import Session, select

from bot.model.clock import Clock, monotonic
from bot.store.database import Store
from bot.store.kept import KEPT, going, table, whole
from bot.store.kind import Goes

#: rows that one read goes through
PAGE = 2_000
#: rows of one write at most, and seconds that it is to take: the number follows from how long the last one took
MOST = 400
LEAST = 4
AIM = 0.015
#: seconds between two writes, in which others have the writer
PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Page:
    """What is due among some rows, and behind which id to go on; None at the end."""

    due: Sequence[str]
    last: str | None


@dataclass(frozen=True, slots=True)
class Sweep:
    """`find` looks behind an id; `act` does it to the rows of these ids, and says how many there still were."""

    name: str
    find: Callable[[Session, str], Page]
    act: Callable[[Session, Sequence[str]], int]


class Sweeper:
    """Carries out sweeps on a store, one write at a time."""

    def __init__(self, store: Store, clock: Clock, *, pause: float = PAUSE) -> None:
        self._store = store
        self._clock = clock
        self._pause = pause
        #: by table: how many rows go into one write
        self._size: dict[str, int] = {}
        #: seconds that the longest write took, for benchmarks
        self.longest = 0.0

    async def sweep(self, one: Sweep) -> int:
        """How many rows it came to. Raises `Transient` where the database refuses; begun again it goes on."""
        done, after = 0, ""
        while True:
            page = await self._store.read(_finding(one, after))
            due = list(page.due)
            while due:
                size = self._size.get(one.name, LEAST)
                some, due = due[:size], due[size:]
                count, took = await self._store.write(_acting(one, some))
                done += count
                self._learn(one.name, len(some), took)
                await self._clock.sleep(self._pause)
            if page.last is None:
                return done
            after = page.last

    def _learn(self, name: str, count: int, took: float) -> None:
        self.longest = max(self.longest, took)
        size = self._size.get(name, LEAST)
        if took > AIM:
            size = int(count * AIM / took)
        elif count == size:
            size *= 2
        self._size[name] = max(1, min(MOST, size))


def _finding(one: Sweep, after: str) -> Callable[[Session], Page]:
    return lambda session: one.find(session, after)


def _acting(one: Sweep, ids: Sequence[str]) -> Callable[[Session], tuple[int, float]]:
    def sweep(session: Session) -> tuple[int, float]:
        began = monotonic()
        count = one.act(session, ids)
        session.flush()
        return count, monotonic() - began

    return sweep


def paged(name: str, *where: ColumnElement[bool]) -> Callable[[Session, str], Page]:
    """Find the rows of a table for which `where` holds. However few they are, no read goes through more than a page."""
    key = _key(table(name))

    def find(session: Session, after: str) -> Page:
        ids = session.exec(select(key).where(key > after).order_by(key).limit(PAGE)).all()
        if not ids:
            return Page((), None)
        due = session.exec(select(key).where(key > after, key <= ids[-1], *where).order_by(key)).all()
        return Page(due, ids[-1] if len(ids) == PAGE else None)

    return find


def listed(
    name: str, column: str, values: Sequence[Any], *where: ColumnElement[bool], youngest_first: bool = False
) -> Callable[[Session, str], Page]:
    """Find the rows of a table that belong to one of `values`, by an indexed column."""
    found = table(name)
    key = _key(found)

    def find(session: Session, after: str) -> Page:
        query = select(key).where(found.c[column].in_(values), *where).limit(PAGE)
        if youngest_first:
            query = query.order_by(key.desc())
            query = query.where(key < after) if after else query
        else:
            query = query.order_by(key).where(key > after)
        ids = session.exec(query).all()
        return Page(ids, ids[-1] if len(ids) == PAGE else None)

    return find


def purge(session: Session, name: str, goes: Goes, ids: Sequence[str], *where: ColumnElement[bool]) -> int:
    """Take from these rows what goes then (`kept.KEPT`): the whole row, or what is no identity, state, time or cost."""
    found = table(name)
    key = _key(found)
    mine = (key.in_(ids), *where)
    if whole(name, goes):
        return session.connection().execute(delete(found).where(*mine)).rowcount
    columns = going(name, goes)
    fixed = {column: rest for column, rest in columns.items() if KEPT[name][column].rest is None}
    parted = {column: rest for column, rest in columns.items() if column not in fixed}
    count = 0
    if parted:
        for row in session.connection().execute(rows_of(key, *(found.c[column] for column in parted)).where(*mine)):
            old = dict(zip(parted, row[1:], strict=True))
            new = {column: rest(old[column]) for column, rest in parted.items()}
            if new != old:
                session.connection().execute(update(found).where(key == row[0]).values(new))
            count += 1
    if fixed:
        values = {column: _empty(rest(None)) for column, rest in fixed.items()}
        count = session.connection().execute(update(found).where(*mine).values(values)).rowcount
    return count


def purging(name: str, goes: Goes, *where: ColumnElement[bool]) -> Callable[[Session, Sequence[str]], int]:
    """`purge` as what a sweep does; `where` is looked at once more, as rows change after they were found."""

    def act(session: Session, ids: Sequence[str]) -> int:
        return purge(session, name, goes, ids, *where)

    return act


def deleting(name: str, *where: ColumnElement[bool]) -> Callable[[Session, Sequence[str]], int]:
    """Delete rows; `where` is looked at once more."""
    found = table(name)
    key = _key(found)

    def act(session: Session, ids: Sequence[str]) -> int:
        return session.connection().execute(delete(found).where(key.in_(ids), *where)).rowcount

    return act


def _empty(value: Any) -> Any:
    """A JSON column would keep None as a text of its own."""
    return null() if value is None else value


def _key(found: Table) -> Any:
    """The column of the primary key, which is one."""
    (key,) = found.primary_key.columns
    return key
