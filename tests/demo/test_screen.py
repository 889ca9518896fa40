"""The conversation in a terminal of eighty columns."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bot.demo.acts import conversation
from bot.demo.repository import BOT_YML, BROKEN_YML
from bot.demo.screen import ROWS, Screen


def drawn() -> tuple[Screen, io.StringIO]:
    """A screen of eighty columns, and what is on it."""
    file = io.StringIO()
    return Screen(Console(file=file, width=80, highlight=False)), file


def test_nothing_of_ours_is_folded() -> None:
    """First words, where it is, titles and commits each stay on one row."""
    screen, file = drawn()
    screen.opening()
    screen.set_up(isolated=True, isolation="bubblewrap", issue="acme/widgets #1 Title", url="http://127.0.0.1:1/x")
    acts = conversation("")
    for number, act in enumerate(acts, 1):
        screen.act(number, len(acts), act.title)
    screen.commits("meg", "maintain", "Try", BOT_YML, BROKEN_YML)
    rows = [row for row in file.getvalue().splitlines() if row.strip()]
    assert len(rows) == 5 + len(acts) + 4
    assert "…" not in file.getvalue()


@pytest.mark.parametrize(("rows", "note"), [(ROWS, ""), (ROWS + 1, ""), (ROWS + 2, "… 2 more lines on the page")])
def test_a_long_answer_is_cut(rows: int, note: str) -> None:
    """With a note of how much is missing, where the note takes less room than what it stands for."""
    screen, file = drawn()
    screen.answers("  \n".join(f"row {number}" for number in range(rows)), [])
    told = file.getvalue()
    assert ("more lines" in told, note in told) == (bool(note), True)
    assert (f"row {rows - 1}" in told) is not bool(note)


def test_missing_isolation_is_told() -> None:
    """What is missing, and what that means."""
    screen, file = drawn()
    screen.set_up(isolated=False, isolation="no isolation: bubblewrap is not installed.", issue="x", url="y")
    told = " ".join(file.getvalue().split())
    assert "isolation is off bubblewrap is not installed. The demo runs all the same" in told
