"""Comment in, comment out, on an independent GitHub: the npm package `emulate`, its own signed deliveries included."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from fastapi import FastAPI
from sqlmodel import col, func, select

from bot.app import Bot, open_bot
from bot.demo.server import Loopback
from bot.model.state import DeliveryState, OutboxState, RunState
from bot.publish.marker import strip
from bot.serving import attach
from bot.settings import Settings
from bot.store import Session
from bot.store.rest import unfinished
from bot.store.tables import Delivery, Outbox, Run
from tests.contract.emulate import OWNER, Emulator, require, running
from tests.faults.process import free_port

T = TypeVar("T")
SECRET = "a webhook secret of the tests"
BOT_YML = """\
version: 1
agents:
  helper:
    model: demo:helper
    prompt: You help with issues.
workflows:
  check:
    steps:
      # there is no git over HTTP to clone from
      - {id: check, run: "echo checked ${{ issue.number }}", workspace: none}
"""


@dataclass
class Stage:
    """The emulator and a bot that it delivers to."""

    github: Emulator
    bot: Bot
    webhook: str

    async def call(self, login: str, method: str, path: str, **body: Any) -> Any:
        """One request as a person; the emulator's process answers, so the event loop must not wait for it."""
        return await asyncio.to_thread(self.github.call, login, method, path, **body)

    async def says(self, login: str, body: str) -> int:
        """Somebody comments on issue 1; returns when the bot heard of it and has nothing left to do."""
        made = await self.call(login, "POST", "/issues/1/comments", body=body)
        await self.heard(made["id"])
        return int(made["id"])

    async def replies(self) -> list[str]:
        """The bot's comments, oldest first, without their markers; each of them has come back to it."""
        comments = await self.call("meg", "GET", "/issues/1/comments?per_page=100")
        ours = [comment for comment in comments if comment["user"]["login"] == "bot[bot]"]
        for comment in ours:
            await self.heard(comment["id"])
        return [strip(comment["body"]) for comment in ours]

    async def heard(self, comment_id: int) -> None:
        """Wait until the delivery about a comment was looked at, and everything is at rest."""
        about = func.json_extract(col(Delivery.body), "$.comment.id") == comment_id

        def pending(session: Session) -> bool:
            states = session.exec(select(Delivery.state).where(about)).all()
            return not states or DeliveryState.NEW in states or unfinished(session) > 0

        async with asyncio.timeout(30):
            while await self.bot.store.read(pending):
                await asyncio.sleep(0.01)

    async def look(self, work: Callable[[Session], T]) -> T:
        return await self.bot.store.read(work)

    async def configures(self, text: str) -> None:
        """ana commits `bot.yml`, new or changed."""
        path = "/contents/.github/bot.yml"
        body: dict[str, Any] = {"message": "Change", "content": base64.b64encode(text.encode()).decode()}
        there = await asyncio.to_thread(self.github.people[OWNER].get, f"/repos/{OWNER}/parser{path}")
        if there.is_success:
            body["sha"] = there.json()["sha"]
        await self.call(OWNER, "PUT", path, **body)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A repository with a configuration, and a bot that knows nothing but the App's id, key and secret."""
    require()
    port = free_port()
    webhook = f"http://127.0.0.1:{port}/webhook"
    async with AsyncExitStack() as stack:
        github = stack.enter_context(running(tmp_path, webhook_url=webhook, webhook_secret=SECRET))
        settings = Settings.model_validate(
            {
                "github_url": github.base_url,
                "app_id": github.app_id,
                "private_key": github.private_key,
                "webhook_secrets": (SECRET,),
                "allowed_owners": (OWNER,),
                "data_dir": tmp_path / "data",
            }
        )
        bot = await stack.enter_async_context(open_bot(settings, environ={}))
        front = FastAPI()
        attach(front, bot)
        await stack.enter_async_context(Loopback(front, port=port))
        made = Stage(github, bot, webhook)
        await made.configures(BOT_YML)
        yield made


def outbox(session: Session) -> list[tuple[str, OutboxState, str]]:
    """What was to be said, and what became of it."""
    rows = session.exec(select(Outbox).order_by(col(Outbox.id)))
    return [(row.action, row.state, row.reason) for row in rows]


async def test_a_mention_leads_to_one_result(stage: Stage) -> None:
    """Reactions, which are not there, are dropped with the reason and disturb nothing."""
    await stage.says("meg", "@bot check")
    (told,) = await stage.replies()
    assert told.startswith("```text\nchecked 1\n```")
    assert await stage.look(lambda session: session.exec(select(Run.state)).all()) == [RunState.SUCCEEDED]
    rows = await stage.look(outbox)
    assert [(action, state) for action, state, _ in rows if action == "comment"] == [("comment", OutboxState.POSTED)]
    reactions = [(state, reason) for action, state, reason in rows if action == "reaction"]
    assert len(reactions) == 2
    for state, reason in reactions:
        assert state is OutboxState.DROPPED
        # it is what GitHub says of reactions to a comment that is gone
        assert reason == "comment_deleted"


async def test_the_same_body_again_leads_to_nothing(stage: Stage) -> None:
    """As somebody who captured it would send it: under a new GUID, with its signature."""
    asked = await stage.says("meg", "@bot check")
    about = func.json_extract(col(Delivery.body), "$.comment.id") == asked
    body = await stage.look(lambda session: session.exec(select(Delivery.body).where(about)).one())
    headers = {
        "X-GitHub-Event": "issue_comment",
        "X-GitHub-Delivery": "another",
        "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest(),
    }
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(stage.webhook, content=body, headers=headers)
    assert (answer.status_code, answer.json()["status"]) == (202, "duplicate")
    assert len(await stage.replies()) == 1


async def test_an_agent_is_given_the_thread(stage: Stage) -> None:
    """What people said, and what is pinned; the index of pins is one comment, edited in place."""
    await stage.says("meg", "It began with version two")
    await stage.says("meg", "@bot pin Always be kind")
    (index,) = await stage.replies()
    assert "Always be kind" in index
    await stage.says("ana", "@bot pin Answer in English")
    (index,) = await stage.replies()
    assert "Always be kind" in index
    assert "Answer in English" in index
    await stage.says("ana", "@bot helper what is this about?")
    index, answer = await stage.replies()
    assert "You asked: " in answer
    assert "It began with version two" in answer
    assert "2 pins" in answer


async def test_a_broken_configuration_is_told_and_a_mended_one_works(stage: Stage) -> None:
    """With file, line, column and hint; once."""
    await stage.configures(BOT_YML.replace("model:", "modle:"))
    await stage.says("meg", "@bot check")
    (told,) = await stage.replies()
    assert "`.github/bot.yml` at " in told
    assert "[4:5](" in told
    assert "`unknown_key`" in told
    assert "did you mean `model`" in told
    await stage.says("meg", "@bot check again")
    assert len(await stage.replies()) == 1
    await stage.configures(BOT_YML)
    await stage.says("meg", "@bot check")
    assert (await stage.replies())[1].startswith("```text\nchecked 1\n```")


async def test_who_may_not_gets_nothing(stage: Stage) -> None:
    """sam is a stranger there; the bot's own words, quoted back, are nobody's request."""
    await stage.says("sam", "@bot check")
    await stage.says("meg", "> @bot check")
    assert await stage.replies() == []
    assert await stage.look(outbox) == []
