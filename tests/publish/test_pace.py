"""As fast as GitHub likes, and no faster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.publish.pace import Pace

NOW = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def take(pace: Pace, seconds: float = 0, *, installation: int = 1, content: bool = False) -> float:
    return pace.take(installation, content=content, now=after(seconds))


def test_a_burst_then_one_a_second() -> None:
    """Ten at once; whoever comes then is told to ask in a second."""
    pace = Pace()
    assert [take(pace) for _ in range(12)] == [0.0] * 10 + [1.0, 1.0]
    assert take(pace, 1) == 0.0
    assert take(pace, 1) > 0
    assert [take(pace, 1_000) for _ in range(11)][9:] == [0.0, 1.0]


def test_installations_do_not_share() -> None:
    """One that is busy slows no other."""
    pace = Pace(burst=1)
    assert (take(pace), take(pace), take(pace, installation=2)) == (0.0, 1.0, 0.0)


def test_eighty_contents_a_minute() -> None:
    """The eighty-first of a minute waits for the first to be a minute old; reactions do not."""
    pace = Pace(burst=1_000)
    assert {take(pace, number / 10, content=True) for number in range(80)} == {0.0}
    assert take(pace, 10, content=True) == 50.0
    assert take(pace, 10) == 0.0
    assert take(pace, 60, content=True) == 0.0


def test_five_hundred_contents_an_hour() -> None:
    """Also where no minute is too full."""
    pace = Pace(burst=1_000)
    assert {take(pace, number * 2, content=True) for number in range(500)} == {0.0}
    assert take(pace, 1_000, content=True) == 2_600.0
    assert take(pace, 3_600, content=True) == 0.0


def test_a_limit_is_obeyed() -> None:
    """Nothing leaves before the time that GitHub said, of that installation."""
    pace = Pace()
    assert pace.limited(1, 3_600.0, NOW) == after(3_600)
    assert take(pace, 10) == 3_590.0
    assert take(pace, 10, installation=2) == 0.0
    assert take(pace, 3_600) == 0.0


def test_a_shorter_limit_does_not_end_a_longer_one() -> None:
    """Two answers that were under way together."""
    pace = Pace()
    pace.limited(1, 300.0, NOW)
    assert pace.limited(1, 10.0, NOW) == after(300)


def test_a_limit_without_a_time_doubles() -> None:
    """60 s, then 120, 240, at most an hour; a success starts over."""
    pace = Pace()
    waits = [(pace.limited(1, None, after(10_000 * number)) - after(10_000 * number)).seconds for number in range(8)]
    assert waits == [60, 120, 240, 480, 960, 1_920, 3_600, 3_600]
    pace.went_well(1)
    assert pace.limited(1, None, after(100_000)) == after(100_060)


def test_a_clock_that_goes_back() -> None:
    """Gives no tokens and takes none."""
    pace = Pace(burst=2)
    assert take(pace, 100) == 0.0
    assert take(pace, 0) == 0.0
    assert take(pace, 0) == 1.0
