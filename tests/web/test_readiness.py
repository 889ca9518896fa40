"""What `/readyz` finds in the rows."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import text

from bot.store import Session, Store, deliveries, processes
from bot.store.tables import Allowance, Duty, Process
from bot.web.readiness import DELIVERY_STILL, RUN_STILL, Readiness
from tests import rows
from tests.github.fake import FakeClock
from tests.rows import NOW


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


def make(store: Store, clock: FakeClock, *, idle: bool = True, hears: bool = True) -> Readiness:
    return Readiness(store, clock, idle=lambda: idle, hears=lambda: hears, duties=("intake", "outbox"))


async def test_the_schema(store: Store, clock: FakeClock) -> None:
    """Another version has migrated it."""
    ready = make(store, clock)
    assert await ready.schema() is None
    await store.write(lambda session: session.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    assert "the tables are at 9999" in (await ready.schema() or "")


async def test_duties(store: Store, clock: FakeClock) -> None:
    """Somebody who lives has to have each."""
    ready = make(store, clock)
    assert await ready.held() == "nobody does: intake, outbox"

    def work(session: Session) -> None:
        at = processes.now(session)
        session.add(Process(id="a", host="h", kind="worker", started_at=at, beat_at=at))
        session.add_all([Duty(name=name, owner="a") for name in ("intake", "outbox")])

    await store.write(work)
    assert await ready.held() is None
    assert await Readiness(store, clock).held() is None


async def test_a_delivery_that_stays_the_oldest(store: Store, clock: FakeClock) -> None:
    """Not while others come and go, nor where another process looks at them."""
    ready, elsewhere = make(store, clock), make(store, clock, hears=False)
    await store.write(lambda session: deliveries.take(session, rows.delivery("a"), NOW))
    assert await ready.moves() is None
    assert await elsewhere.moves() is None
    clock.advance(DELIVERY_STILL.total_seconds() - 1)
    assert await ready.moves() is None
    clock.advance(1)
    assert "is due, and nothing came of it for 5 min" in (await ready.moves() or "")
    assert await elsewhere.moves() is None


async def test_a_run_that_nobody_takes(store: Store, clock: FakeClock) -> None:
    """By a process that has nothing to do; one that works may be full."""
    await store.write(lambda session: rows.run(session, guid="a"))
    await store.write(lambda session: session.execute(text("UPDATE delivery SET state = 'planned'")))
    ready, busy = make(store, clock), make(store, clock, idle=False)
    assert (await ready.moves(), await busy.moves()) == (None, None)
    clock.advance(RUN_STILL.total_seconds())
    assert "is next, and nobody took it for 1 min" in (await ready.moves() or "")
    assert await busy.moves() is None


async def test_limits(store: Store, clock: FakeClock) -> None:
    """Which installations, and until when."""
    ready = make(store, clock)
    assert await ready.limits() is None
    row = Allowance(installation_id=5, resource="core", ceiling=1, remaining=0, seen_at=NOW)
    row.blocked_until = NOW + timedelta(minutes=3)
    await store.write(lambda session: session.add(row))
    assert await ready.limits() == "1 installation(s) at a limit: 5 until 12:03:00 UTC"


async def test_github(store: Store, clock: FakeClock, tmp_path: Path) -> None:
    """Since when it is away."""
    away: list[tuple[datetime, str] | None] = [None, (NOW, "ConnectError")]
    ready = Readiness(store, clock, away=lambda: away.pop(0))
    assert await ready.answers() is None
    assert await ready.answers() == "it has not answered since 12:00:00 UTC (ConnectError)"


async def test_stuck(store: Store, clock: FakeClock) -> None:
    """In words, with ids."""
    ready = make(store, clock)
    await store.write(lambda session: deliveries.take(session, rows.delivery("a"), NOW))
    assert await ready.stands() is None
    clock.advance(600)
    assert "deliveries that nobody looked at" in (await ready.stands() or "")
