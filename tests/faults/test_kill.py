"""`kill -9` at any point of a run: after a restart one result, no attempt lost from the ledger, order kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.demo.deliveries import Deliverer
from tests.faults.process import BotProcess, at_work, free_port
from tests.stage import make_world

BOT_YML = """\
version: 1
agents:
  helper: {model: "demo:helper", prompt: You help.}
workflows:
  three:
    steps:
      - {id: one, run: "sleep 0.3; echo one"}
      - {id: two, run: "sleep 0.3; echo two"}
      - {id: three, agent: helper}
"""


class Scene:
    """A bot process that may die."""

    def __init__(self, bot: BotProcess, deliverer: Deliverer) -> None:
        self.bot, self.deliverer = bot, deliverer
        self.world = bot.world

    async def ask(self, body: str = "@bot three") -> None:
        self.world.comment("acme/widgets", 1, "ana", body)
        await self.deliverer.settle()

    async def die_and_come_back(self) -> None:
        await self.bot.stop()
        self.world.faults.clear()
        await self.bot.start()
        await self.bot.settled()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    world, _, app, _ = make_world(tmp_path / "github", {".github/bot.yml": BOT_YML})
    bot = BotProcess(world, app, tmp_path / "data", free_port())
    async with at_work(bot) as deliverer:
        yield Scene(bot, deliverer)


ATTEMPTS = "SELECT step, number, state FROM attempt ORDER BY id"


async def test_right_after_the_answer_to_the_delivery(scene: Scene) -> None:
    """202 means on disk: the request is worked on after the restart."""
    await scene.ask()
    await scene.die_and_come_back()
    assert len(scene.bot.said()) == 1


@pytest.mark.parametrize("step", ["one", "two"])
async def test_while_a_step_runs(scene: Scene, step: str) -> None:
    """The attempt becomes `interrupted`, another follows, what was done stays done."""
    await scene.ask()
    running = f"SELECT count(*) FROM attempt WHERE step = '{step}' AND state = 'running'"
    await scene.bot.until(lambda: scene.bot.rows(running) == [(1,)])
    await scene.die_and_come_back()
    assert len(scene.bot.said()) == 1
    attempts = scene.bot.rows(ATTEMPTS)
    assert [a for a in attempts if a[0] == step] == [(step, 1, "interrupted"), (step, 2, "success")]
    assert [a for a in attempts if a[0] != step] == [(s, 1, "success") for s in ("one", "two", "three") if s != step]


async def test_while_the_result_is_sent_and_github_did_not_do_it(scene: Scene) -> None:
    """The request hangs before GitHub acts: nobody knows, the marker is looked for, then it is posted."""
    held = scene.world.faults.hold("POST", r".*/issues/1/comments")
    await scene.ask()
    await scene.bot.until(lambda: held.met)
    await scene.die_and_come_back()
    assert len(scene.bot.said()) == 1


async def test_after_github_did_it_and_the_reply_was_lost(scene: Scene) -> None:
    """The comment is there: it is found and not posted again."""
    lost = scene.world.faults.lose_reply("POST", r".*/issues/1/comments")
    await scene.ask()
    await scene.bot.until(lambda: lost.met)
    await scene.die_and_come_back()
    assert len(scene.bot.said()) == 1


async def test_two_requests_keep_their_order(scene: Scene) -> None:
    """The second waits for the first, whatever dies."""
    await scene.ask()
    await scene.ask("@bot helper and another")
    running = "SELECT count(*) FROM attempt WHERE state = 'running'"
    await scene.bot.until(lambda: scene.bot.rows(running) == [(1,)])
    await scene.die_and_come_back()
    numbers = [reply.rsplit("<sub>", 1)[1].split(" ·")[0] for reply in scene.bot.said()]
    assert numbers == ["r1", "r2"]


async def test_the_same_delivery_after_a_restart_and_under_a_new_guid(scene: Scene) -> None:
    """One result."""
    await scene.ask("@bot helper hello")
    await scene.bot.settled()
    guid = next(d.guid for d in reversed(scene.world.deliveries) if d.action == "created" and "hello" in str(d.body))
    await scene.die_and_come_back()
    assert (await scene.deliverer.redeliver(guid)).status_code == 202
    assert (await scene.deliverer.replay(guid)).status_code == 202
    await scene.bot.settled()
    assert len(scene.bot.said()) == 1
