"""As fast as GitHub likes, and no faster; a restart and other processes know what was sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import SQLModel, create_engine, func, select

from bot.publish.pace import Pace
from bot.store import Session
from bot.store.tables import Creation, Meter

NOW = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)


@pytest.fixture
def session() -> Iterator[Session]:
    """Nothing but the two tables, in memory."""
    engine = create_engine("sqlite://")
    SQLModel.metadata.create_all(engine, [SQLModel.metadata.tables[name] for name in ("meter", "creation")])
    with Session(engine, expire_on_commit=False) as made:
        yield made
    engine.dispose()


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def take(
    session: Session, pace: Pace, seconds: float = 0, *, installation: int = 1, creates: str | None = None
) -> float:
    return pace.take(session, installation, creates=creates, now=after(seconds))


def posted(session: Session, pace: Pace, name: str, sent: float, answered: float, calls: int = 1) -> None:
    pace.answered(session, 1, name, after(sent), after(answered), calls=calls)


def test_a_burst_then_one_a_second(session: Session) -> None:
    """Ten at once; whoever comes then is told to ask in a second."""
    pace = Pace()
    assert [take(session, pace) for _ in range(12)] == [0.0] * 10 + [1.0, 1.0]
    assert take(session, pace, 1) == 0.0
    assert take(session, pace, 1) > 0
    assert [take(session, pace, 1_000) for _ in range(11)][9:] == [0.0, 1.0]


def test_what_is_refused_leaves_no_trace(session: Session) -> None:
    """By whoever asks again and again, the meter is not moved."""
    pace = Pace(burst=1)
    assert take(session, pace) == 0.0
    session.commit()
    assert take(session, pace, 0.5) == 0.5
    assert not session.dirty
    meter = session.exec(select(Meter)).one()
    assert (meter.tokens, meter.filled_at) == (0.0, NOW)


def test_another_process_shares_the_bucket(session: Session) -> None:
    """What one took, the other has not; neither has a process that starts later."""
    one, other = Pace(), Pace()
    assert [take(session, pace) for pace in (one, other) * 5] == [0.0] * 10
    assert (take(session, one), take(session, other), take(session, Pace())) == (1.0, 1.0, 1.0)


def test_installations_do_not_share(session: Session) -> None:
    """One that is busy slows no other."""
    pace = Pace(burst=1)
    assert (take(session, pace), take(session, pace), take(session, pace, installation=2)) == (0.0, 1.0, 0.0)


def test_eighty_contents_a_minute(session: Session) -> None:
    """The eighty-first of a minute waits for the first to be a minute old; reactions and edits do not."""
    pace = Pace(burst=1_000)
    assert {take(session, pace, number / 10, creates=f"r{number}") for number in range(80)} == {0.0}
    assert take(session, pace, 10, creates="more") == 50.0
    assert take(session, pace, 10) == 0.0
    assert take(session, pace, 60, creates="more") == 0.0


def test_five_hundred_contents_an_hour(session: Session) -> None:
    """Also where no minute is too full; another process knows them, and older ones are forgotten."""
    pace = Pace(burst=1_000)
    assert {take(session, pace, number * 2, creates=f"r{number}") for number in range(500)} == {0.0}
    assert take(session, Pace(burst=1_000), 1_000, creates="more") == 2_600.0
    assert take(session, pace, 3_600, creates="more") == 0.0
    assert take(session, pace, 8_000, creates="last") == 0.0
    assert session.exec(select(func.count()).select_from(Creation)).one() == 1


def test_what_was_answered_late_counts_from_then(session: Session) -> None:
    """GitHub may have created it at any moment until it answered."""
    pace = Pace(burst=1_000, minute=1)
    assert take(session, pace, 0, creates="r1") == 0.0
    posted(session, pace, "r1", 0, 20)
    assert take(session, pace, 60, creates="r2") == 20.0
    assert take(session, pace, 80, creates="r2") == 0.0


def test_what_never_arrived_does_not_count(session: Session) -> None:
    """Nothing was created; the same row takes its place again."""
    pace = Pace(burst=1_000, minute=1)
    assert take(session, pace, 0, creates="r1") == 0.0
    pace.unsent(session, "r1", after(0))
    assert take(session, pace, 2, creates="r1") == 0.0
    assert take(session, pace, 3, creates="r2") == 59.0


def test_a_limit_is_obeyed(session: Session) -> None:
    """Nothing leaves before the time that GitHub said, of that installation, by no process."""
    pace = Pace()
    assert pace.limited(session, 1, 3_600.0, NOW) == after(3_600)
    assert take(session, Pace(), 10) == 3_590.0
    assert take(session, pace, 10, installation=2) == 0.0
    assert take(session, pace, 3_600) == 0.0


def test_a_shorter_limit_does_not_end_a_longer_one(session: Session) -> None:
    """Two answers that were under way together."""
    pace = Pace()
    pace.limited(session, 1, 300.0, NOW)
    assert pace.limited(session, 1, 10.0, NOW) == after(300)


def test_a_limit_without_a_time_doubles(session: Session) -> None:
    """60 s, then 120, 240, at most an hour; a success starts over, an answer that is none does not."""
    pace = Pace()

    def wait(number: int) -> float:
        at = after(10_000 * number)
        return (pace.limited(session, 1, None, at) - at).total_seconds()

    assert [wait(number) for number in range(8)] == [60, 120, 240, 480, 960, 1_920, 3_600, 3_600]
    posted(session, pace, "r1", 80_000, 80_000, calls=0)
    assert wait(9) == 3_600
    posted(session, pace, "r1", 95_000, 95_000)
    assert wait(10) == 60


def test_further_calls_are_paid_for(session: Session) -> None:
    """Five labels taken off, or a duplicate deleted: what comes next waits for them."""
    pace = Pace(burst=2)
    assert take(session, pace) == 0.0
    posted(session, pace, "r1", 0, 0, calls=3)
    assert take(session, pace) == 2.0
    pace.spent(session, 1, 1, NOW)
    assert take(session, pace) == 3.0


def test_a_clock_that_goes_back(session: Session) -> None:
    """Gives one token and takes none; what was created in the future blocks nobody for longer than an hour."""
    pace = Pace(burst=2)
    assert take(session, pace, 100) == 0.0
    assert [take(session, pace, 0) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert take(session, pace, -2) == 1.0
    full = Pace(burst=100, hour=1)
    assert take(session, full, 90_000, installation=3, creates="r1") == 0.0
    assert take(session, full, 0, installation=3, creates="r2") == 3_600.0
