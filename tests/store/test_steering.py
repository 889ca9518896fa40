"""Who has heard what people told a run."""

from __future__ import annotations

from datetime import timedelta

from sqlmodel import Session

from bot.store import Store, steering
from bot.store.tables import Attempt, Frame, Steer
from tests import rows
from tests.rows import ANA, NOW


def attempt(session: Session, run_id: str, step: str, seconds: int, number: int = 1) -> str:
    """An attempt of a step that began so long after `NOW`."""
    frame = Frame(run_id=run_id, path=f"/{step}{number}")
    session.add(frame)
    session.flush()
    began = NOW + timedelta(seconds=seconds)
    made = Attempt(run_id=run_id, frame_id=frame.id, step=step, kind="agent", number=number, started_at=began)
    session.add(made)
    session.flush()
    return made.id


def say(session: Session, run_id: str, text: str, seconds: int) -> str:
    """Ana says something so long after `NOW`."""
    made = Steer(run_id=run_id, text=text, by=ANA.login, by_id=ANA.id, at=NOW + timedelta(seconds=seconds))
    session.add(made)
    session.flush()
    return made.id


def texts(session: Session, attempt_id: str, *known: str) -> list[str]:
    """What an attempt has not heard."""
    return [one.text for one in steering.unheard(session, attempt_id, known)]


async def test_who_hears_what(store: Store) -> None:
    """Nobody yet: whoever asks first. Then those at work when it was said, and the step that read it."""

    def work(session: Session) -> None:
        run, other = rows.run(session, guid="1").id, rows.run(session, 2, guid="2").id
        first, beside = attempt(session, run, "first", 0), attempt(session, run, "beside", 1)
        said = say(session, run, "Hurry.", 5)
        say(session, other, "Not you.", 5)
        assert texts(session, first) == ["Hurry."]
        assert [one.text for one in steering.late(session, run)] == ["Hurry."]
        steering.heard(session, first, [said], NOW + timedelta(seconds=6))
        assert steering.late(session, run) == []
        assert texts(session, first, said) == []
        assert texts(session, beside) == ["Hurry."]
        later = attempt(session, run, "later", 10)
        assert texts(session, later) == []
        assert texts(session, attempt(session, run, "first", 11, 2)) == ["Hurry."]
        say(session, run, "One more.", 12)
        say(session, run, "And one.", 12)
        assert texts(session, later) == ["One more.", "And one."]
        row = session.get_one(Steer, said)
        assert (row.attempt_id, row.read_at) == (first, NOW + timedelta(seconds=6))

    await store.write(work)
