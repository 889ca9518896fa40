"""The budget that a request sets for itself binds what its run starts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.dispatch.caps import capped, rest
from bot.model.state import AttemptState
from bot.store import Session, Store, dispatches, open_store
from bot.store.tables import Attempt, Frame
from tests import rows
from tests.databases import DATABASES


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """An empty database."""
    opened = open_store(DATABASES.of_folder(tmp_path))
    yield opened
    await opened.close()


async def left(store: Store, words: dict[str, str], *spent: tuple[float | None, int, str | None]) -> dict[str, str]:
    """What a request with these words leaves, after attempts with cost, tokens, and what they were taken from."""

    def work(session: Session) -> dict[str, str]:
        run = rows.run(session, guid="g")
        dispatch = dispatches.get(session, run.dispatch_id)
        dispatch.params = words
        frame = Frame(run_id=run.id, path="/x#0")
        session.add_all([dispatch, frame])
        session.flush()
        for number, (cost, tokens, taken_from) in enumerate(spent):
            made = Attempt(run_id=run.id, frame_id=frame.id, step="a", kind="agent", number=number)
            made.cost, made.input_tokens, made.output_tokens = cost, tokens, 1
            made.state, made.taken_from, made.started_at = AttemptState.SUCCESS, taken_from, rows.NOW
            session.add(made)
        session.flush()
        return rest(session, dispatch)

    return await store.write(work)


async def test_what_is_left(store: Store) -> None:
    """Of dollars and tokens what the run has not spent; minutes are the same; what was taken over was paid before."""
    words = {"usd": "$1", "tokens": "5000", "minutes": "2.5", "base": "main"}
    found = await left(store, words, (0.25, 999, None), (None, 499, None), (0.5, 99, "an earlier one"))
    assert found == {"usd": "0.75", "tokens": "3500", "minutes": "2.5"}


async def test_all_is_spent(store: Store) -> None:
    """Nothing is left, and no less."""
    assert await left(store, {"usd": "0.1", "tokens": "100"}, (0.3, 500, None)) == {"usd": "0", "tokens": "0"}


async def test_a_fraction_is_not_rounded_up(store: Store) -> None:
    """An amount has four places."""
    assert await left(store, {"usd": "1"}, (0.00001, 0, None)) == {"usd": "0.9999"}


async def test_no_budget_of_its_own(store: Store) -> None:
    """Nothing is handed on."""
    assert await left(store, {"base": "main"}, (0.3, 500, None)) == {}


def test_the_stricter_holds() -> None:
    """Key by key, beside the other words."""
    given = {"usd": "2", "tokens": "10", "base": "main"}
    assert capped(given, {"usd": "1", "tokens": "100", "minutes": "10"}) == {
        "base": "main",
        "usd": "1",
        "tokens": "10",
        "minutes": "10",
    }
    assert capped(given, {}) == given
