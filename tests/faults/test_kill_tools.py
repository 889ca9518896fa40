"""`kill -9` around what a model asks for: an approval that waits, a dispatch and a pin that are under way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.demo.deliveries import Deliverer
from tests.fake_llm import FakeLLM, Reply
from tests.faults.process import BotProcess, at_work, free_port
from tests.stage import make_world
from tests.stories.talking import KEY, agent, calls, provider, told

SECOND = '  second: {model: "demo:echo", prompt: You repeat.}\n'


class Scene:
    """A scripted provider, and a bot process that may die."""

    def __init__(self, bot: BotProcess, deliverer: Deliverer, fake: FakeLLM) -> None:
        self.bot, self.deliverer, self.fake, self.world = bot, deliverer, fake, bot.world

    async def says(self, body: str) -> int:
        made = self.world.comment("acme/widgets", 1, "ana", body)
        await self.deliverer.settle()
        return int(made.id)

    async def comes_back(self) -> None:
        await self.bot.stop()
        self.world.faults.clear()
        await self.bot.start()

    async def answers(self, option: str) -> None:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.bot.port}", trust_env=False) as client:
            found: list[dict[str, Any]] = (await client.get("/api/gates?state=open")).json()["items"]
            (gate,) = found
            answer = await client.post(f"/api/gates/{gate['id']}/answer", json={"answer": option})
            assert answer.status_code == 200, answer.text


@asynccontextmanager
async def scene(tmp_path: Path, tools: str, *script: Reply) -> AsyncIterator[Scene]:
    world, _, app, _ = make_world(tmp_path / "github", {".github/bot.yml": agent(tools, SECOND)})
    with provider(*script) as fake:
        more = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": fake.openai_url}
        bot = BotProcess(world, app, tmp_path / "data", free_port(), more=more)
        async with at_work(bot) as deliverer:
            yield Scene(bot, deliverer, fake)


async def test_an_approval_survives_a_kill(tmp_path: Path) -> None:
    """Killed while it waits, and killed again once it was answered: the tool's work is done once."""
    script = (calls("add_labels", labels=["bug"]), Reply("Labelled."))
    async with scene(tmp_path, "[{name: add_labels, approval: true}]", *script) as play:
        await play.says("@bot helper sort")
        await play.bot.settled()
        assert len(play.bot.said()) == 1
        await play.comes_back()
        await play.bot.settled()
        assert len(play.bot.said()) == 1
        fault = play.world.faults.hold("POST", ".*/issues/1/labels")
        await play.answers("approve")
        await play.bot.until(fault.met.is_set)
        await play.comes_back()
        await play.bot.settled()
        assert [label.name for label in play.world.issue("acme/widgets", 1).labels] == ["bug"]
        assert sum(reply.startswith("Labelled.") for reply in play.bot.said()) == 1
        # the first half of the conversation was not held again
        assert len(play.fake.requests) == 2
        assert "To be added" in told(play.fake.requests[1])[0]


@pytest.mark.parametrize("where", ["GET .*/issues/1$", "POST .*/issues/1/comments"])
async def test_a_dispatch_is_made_once(tmp_path: Path, where: str) -> None:
    """Killed before it was made, and while its request was posted: there is one, and one comment for it."""
    script = (calls("dispatch", workflow="second", request="Go on.", pin=True), Reply("Started."))
    async with scene(tmp_path, "[dispatch]", *script) as play:
        method, path = where.split(" ")
        await play.says("@bot help")
        await play.bot.settled()
        play.fake.script(*script)
        fault = play.world.faults.hold(method, path)
        await play.says("@bot helper go")
        await play.bot.until(fault.met.is_set)
        await play.comes_back()
        await play.bot.settled()
        made = play.bot.rows("SELECT command, actor, depth FROM dispatch ORDER BY id")
        assert sorted(made) == [("helper", "ana", 0), ("second", "ana", 1)]
        assert play.bot.rows("SELECT state FROM outbox WHERE action = 'dispatch'") == [("posted",)]
        assert sum("starts `second`" in reply and "Go on." in reply for reply in play.bot.said()) == 1
        assert len(play.bot.rows("SELECT id FROM pin")) == 1


async def test_a_pin_is_made_once(tmp_path: Path) -> None:
    """Killed after the row was written and before that was known."""
    async with scene(tmp_path, "[pin_comment]") as play:
        rule = await play.says("Keep it small.")
        play.fake.script(calls("pin_comment", comment_id=rule), Reply("Kept."))
        fault = play.world.faults.hold("POST", ".*/issues/1/comments")
        await play.says("@bot helper remember")
        await play.bot.until(fault.met.is_set)
        await play.comes_back()
        await play.bot.settled()
        assert play.bot.rows("SELECT comment_id, pinned_by FROM pin") == [(rule, "ana")]
        assert sum("Keep it small." in reply for reply in play.bot.said()) == 1
        assert sum(reply.startswith("Kept.") for reply in play.bot.said()) == 1
