"""Whoever makes the bot speak too often in a thread is not answered in words for an hour."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.dispatch.admission import ANSWERS_BOT, ANSWERS_PERSON
from bot.model.state import DispatchState, RunState
from bot.model.thread import Account
from tests.dispatch.scene import Scene, comment_payload
from tests.rows import ANA

OTHER = Account(81, "other[bot]", "Bot")
FILE = """\
version: 1
allow_bots: [81]
workflows:
  typed: {inputs: {count: {type: number}}, steps: [{id: a, run: date}]}
"""


async def says(scene: Scene, sender: Account, words: str, times: int = 1, number: int = 1) -> None:
    """That often, each time in a comment of its own."""
    for _ in range(times):
        scene.counted = getattr(scene, "counted", 500) + 1  # type: ignore[attr-defined]  # the test's own
        await scene.deliver(comment_payload(words, sender, comment_id=scene.counted, number=number))  # type: ignore[attr-defined]  # the test's own
    await scene.settle()


@pytest.mark.parametrize("words", ["@bot help", "@bot statsu", "@bot typed count=many", "@bot retry r9"])
async def test_a_bot_gets_twenty_answers_an_hour(scene: Scene, words: str) -> None:
    """Whatever it says; then one sentence, and 😕 alone; an hour later and elsewhere it is answered."""
    scene.configure(FILE)
    await says(scene, OTHER, words, ANSWERS_BOT)
    before = len(await scene.said("reaction"))
    assert len(await scene.said()) == ANSWERS_BOT
    await says(scene, OTHER, words, 3)
    *_, last = said = await scene.said()
    assert (len(said), last[:60]) == (ANSWERS_BOT + 1, "Nothing more is said: 20 answers went to `other[bot]` here w")
    assert (await scene.said("reaction"))[before:] == ["confused"] * 3
    await says(scene, OTHER, words, number=2)
    assert len(await scene.said()) == ANSWERS_BOT + 2
    await scene.pass_time(timedelta(minutes=61))
    await says(scene, OTHER, words)
    assert len(await scene.said()) == ANSWERS_BOT + 3


async def test_a_person_gets_sixty_and_can_always_stop(scene: Scene) -> None:
    """What ends things acts without a word; each sender has a measure of their own."""
    scene.configure(FILE)
    await says(scene, ANA, "@bot please")
    await says(scene, OTHER, "@bot help", ANSWERS_BOT)
    await says(scene, ANA, "\n".join([f"@bot why r{n}" for n in range(1, 21)]), ANSWERS_PERSON // 20)
    assert len(await scene.said()) == ANSWERS_BOT + ANSWERS_PERSON
    await says(scene, ANA, "@bot help", 2)
    assert "Nothing more is said: 60 answers" in (await scene.said())[-1]
    await says(scene, ANA, "@bot stop")
    assert len(await scene.said()) == ANSWERS_BOT + ANSWERS_PERSON + 2  # the run's own end
    assert [run.state for run in await scene.runs()] == [RunState.CANCELLED]


async def test_wrong_inputs_are_on_record(scene: Scene) -> None:
    """As a refused dispatch with what was wrong, and no run."""
    scene.configure(FILE)
    await says(scene, ANA, "@bot typed count=many")
    (dispatch,) = await scene.dispatched()
    assert (dispatch.state, dispatch.command) == (DispatchState.REFUSED, "typed")
    assert dispatch.reason.startswith("inputs: ")
    assert "count" in dispatch.reason
    assert await scene.runs() == []
