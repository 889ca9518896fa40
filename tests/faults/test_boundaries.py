"""The names of commit boundaries, and that the source has no other than are known here."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bot.publish import compose
from bot.store import Session, Store, named_as, open_store
from tests.faults.boundaries import UNREACHED, boundaries

MODULE = """
class Room:
    async def one(self) -> None:
        await self._store.write(lambda session: 1)

    async def two(self) -> None:
        def work(session: Session) -> None: ...

        await publish.write(self._p.store, work)

    async def three(self) -> None:
        await self._write(lambda session: 3)

    async def four(self) -> None:
        await self._store.write(self._four)

    async def five(self) -> None:
        await self._store.write(partial(rows.rest, number=5))

    async def _write(self, work: Callable[[Session], T]) -> T:
        return await self._patiently(lambda: publish.write(self._store, work))

    async def elsewhere(self) -> None:
        await self._channel.write("POST", "/x")


async def six(store: Store) -> None:
    await store.write(lambda session: 6)
"""


def test_read_from_the_source(tmp_path: Path) -> None:
    """Whoever makes a work, not who passes it on; what writes elsewhere has none."""
    (tmp_path / "room.py").write_text(MODULE)
    assert sorted(boundaries(tmp_path)) == ["Room._four", "Room.one", "Room.three", "Room.two", "rest", "six"]


def test_what_is_excused_is_there() -> None:
    """A boundary that is gone needs no reason any more."""
    assert set(UNREACHED) <= set(boundaries())
    assert all(reason.strip() for reason in UNREACHED.values())


class Names:
    """Works of every sort, as the rooms make them."""

    async def local(self, store: Store) -> None:
        def work(session: Session) -> None: ...

        await compose.write(store, work)

    async def around(self, store: Store) -> None:
        await store.write(named_as(self.bound, lambda session: None))

    def bound(self, session: Session) -> None: ...


def with_more(session: Session, *, number: int) -> None: ...


async def test_names_that_a_failpoint_is_told(tmp_path: Path) -> None:
    """Before and after its commit, by the function that made the work; off, nobody is told."""
    told: list[tuple[str, str]] = []
    store = open_store(f"sqlite:///{tmp_path / 'bot.db'}")
    names = Names()
    await store.write(names.bound)
    store.failpoint = lambda when, name: told.append((when, name))
    await names.local(store)
    await names.around(store)
    await store.write(partial(with_more, number=1))
    store.failpoint = None
    await store.write(names.bound)
    await store.close()
    assert told == [
        (when, name) for name in ("Names.local", "Names.bound", "with_more") for when in ("before", "after")
    ]
