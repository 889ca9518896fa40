"""What GitHub lets installations ask, as rows that all processes share: read before each request, seldom written.

Before a request nothing but memory is looked at, and the rows again once the bell `allowance` has rung or some seconds
have passed. Written is what changes what others do, or what an operator would want to see: a limit, its end, the first
figures of an installation, and each tenth of an allowance that is used up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, or_, select

from bot import log
from bot.errors import Transient
from bot.model.allowance import EVERYTHING, Left, over, struck
from bot.store.database import Store, ring
from bot.store.tables import Allowance

_log = log.get("store")

#: how long what was read is believed where no bell rings
BELIEVED = timedelta(seconds=5)
BELL = "allowance"

Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Block:
    """Until when nothing is asked, and how many limits in a row named no time."""

    until: datetime | None
    strikes: int = 0


def blocks(session: Session, now: datetime) -> Mapping[Key, Block]:
    """The limits that hold, and those whose end nobody has seen yet."""
    rows = session.exec(select(Allowance).where(or_(col(Allowance.blocked_until) > now, col(Allowance.strikes) > 0)))
    return {(row.installation_id, row.resource): Block(row.blocked_until, row.strikes) for row in rows}


def block(session: Session, key: Key, wait: float | None, sent: datetime, now: datetime) -> Block:
    """Note one more limit; see `bot.model.allowance.struck`."""
    row = _row(session, key, now)
    until, strikes = struck(row.blocked_until, row.strikes, wait, sent, now)
    if (until, strikes) != (row.blocked_until, row.strikes):
        row.blocked_until, row.strikes, row.seen_at = until, strikes, now
        if key[1] != EVERYTHING:
            row.remaining = 0
        session.add(row)
        ring(session, BELL)
    return Block(until, strikes)


def note(session: Session, installation_id: int, left: Left, now: datetime) -> None:
    """Note what is left. Where nothing is, nothing is asked before the reset."""
    row = _row(session, (installation_id, left.resource), now)
    row.ceiling, row.remaining, row.reset_at, row.seen_at = left.ceiling, left.remaining, left.reset_at, now
    if left.remaining == 0 and left.reset_at is not None:
        row.blocked_until = max(filter(None, (row.blocked_until, left.reset_at)))
        ring(session, BELL)
    session.add(row)


def unblock(session: Session, key: Key, sent: datetime) -> None:
    """What was sent at `sent` was done: limits in a row have come to an end, unless one began since."""
    row = session.get(Allowance, key)
    if row is not None and over(row.blocked_until, sent):
        row.strikes = 0
        session.add(row)
        ring(session, BELL)


def _row(session: Session, key: Key, now: datetime) -> Allowance:
    row = session.get(Allowance, key)
    if row is None:
        row = Allowance(installation_id=key[0], resource=key[1], ceiling=0, remaining=0, seen_at=now)
    return row


class SharedAllowances:
    """`bot.model.allowance.Allowances` on the store. `close` before the store is closed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._blocks: Mapping[Key, Block] = {}
        #: what the disk would not take
        self._unkept: dict[Key, Block] = {}
        self._read_at: datetime | None = None
        self._heard = -1
        self._turn = asyncio.Lock()
        #: the tenth of each allowance that was written last
        self._tenths: dict[Key, int] = {}
        self._writing: set[asyncio.Task[None]] = set()

    async def until(self, installation_id: int, resource: str, now: datetime) -> datetime | None:
        """See `Allowances`."""
        if not self._fresh(now):
            await self._read(now)
        known = (self._blocks.get((installation_id, one)) for one in (resource, EVERYTHING))
        return max(
            (one.until for one in known if one is not None and one.until is not None and one.until > now),
            default=None,
        )

    async def limited(
        self, installation_id: int, resource: str, wait: float | None, sent: datetime, now: datetime
    ) -> float:
        """See `Allowances`. Where the disk refuses, this process obeys it all the same."""
        key = (installation_id, resource)
        try:
            found = await self._store.write(lambda session: block(session, key, wait, sent, now))
        except Transient as error:
            _log.error("limit_not_kept", installation=installation_id, reason=str(error))
            before = self._blocks.get(key, Block(None))
            found = Block(*struck(before.until, before.strikes, wait, sent, now))
            self._unkept[key] = found
        else:
            self._unkept.pop(key, None)
        self._blocks = {**self._blocks, key: found}
        return 0.0 if found.until is None else max(0.0, (found.until - now).total_seconds())

    def seen(self, installation_id: int, left: Left | None, sent: datetime, now: datetime) -> None:
        """See `Allowances`."""
        key = (installation_id, EVERYTHING)
        known = self._blocks.get(key)
        if known is not None and known.strikes and over(known.until, sent):
            self._blocks = {**self._blocks, key: Block(known.until)}
            self._soon(lambda session: unblock(session, key, sent))
        if left is not None:
            self._left(installation_id, left, now)

    def _left(self, installation_id: int, left: Left, now: datetime) -> None:
        key = (installation_id, left.resource)
        # -1: nothing; what is left of a tenth is not yet nothing
        tenth = -1 if left.remaining == 0 else 10 * left.remaining // max(left.ceiling, 1)
        if self._tenths.get(key) == tenth:
            return
        self._tenths[key] = tenth
        if tenth == -1 and left.reset_at is not None:
            self._blocks = {**self._blocks, key: Block(left.reset_at)}
        self._soon(lambda session: note(session, installation_id, left, now))

    async def close(self) -> None:
        """Wait for what is being written."""
        if self._writing:
            await asyncio.wait(self._writing)

    def _fresh(self, now: datetime) -> bool:
        read = self._read_at
        return self._store.bell(BELL).count == self._heard and read is not None and abs(now - read) < BELIEVED

    async def _read(self, now: datetime) -> None:
        async with self._turn:
            if self._fresh(now):
                return
            heard = self._store.bell(BELL).count
            with suppress(Transient):  # what is known is believed until the disk lets us look again
                self._blocks = {**await self._store.read(lambda session: blocks(session, now)), **self._unkept}
            self._heard, self._read_at = heard, now

    def _soon(self, work: Callable[[Session], None]) -> None:
        """Write, without anybody who waits for it: they are figures, and the next ones follow."""

        async def written() -> None:
            try:
                await self._store.write(work)
            except Transient as error:
                _log.warning("allowance_not_kept", reason=str(error))

        task = asyncio.get_running_loop().create_task(written(), name="allowance")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
