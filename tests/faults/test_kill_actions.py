"""`kill -9` while something is done on GitHub: after a restart it was done once, whether or not the call arrived."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from bot.demo.records import Pull, Repository
from bot.demo.world import World
from bot.model.ident import compact
from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.store import Session, open_store, outbox
from bot.store.tables import Thread
from tests.faults.process import BotProcess, at_work, free_port
from tests.stage import make_world

EVENTS = ["issues", "issue_comment", "pull_request", "pull_request_review"]


class Scene:
    """A look-alike with an issue and a pull request, and a bot process that may die."""

    def __init__(self, bot: BotProcess, repo: Repository, pull: Pull) -> None:
        self.bot, self.repo, self.pull = bot, repo, pull
        self.world: World = bot.world

    async def want(self, action: str, payload: dict[str, Any]) -> None:
        """While the bot is down, something to be done is put into its database."""
        store = open_store(f"sqlite:///{self.bot.data / 'bot.db'}")
        number = self.pull.number if action == "review" else 1

        def work(session: Session) -> None:
            found = session.exec(select(Thread).where(Thread.number == number)).first()
            if found is None:
                issue = session.exec(select(Thread).where(Thread.number == 1)).one()
                found = Thread(**issue.model_dump(exclude={"id"}) | {"number": number, "is_pull_request": True})
                session.add(found)
                session.flush()
            thread = found
            outbox.ensure(
                session, Slot("run/1", action), thread_id=thread.id, action=action, purpose="action",
                body=compact(payload), now=datetime.now(UTC),
            )  # fmt: skip

        await store.write(work)
        await store.close()

    def state(self, action: str) -> list[tuple[Any, ...]]:
        return self.bot.rows(f"SELECT state FROM outbox WHERE action = '{action}'")


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    world, repo, app, _ = make_world(tmp_path / "github")
    app.events = EVENTS
    world.write_file(repo, "src/size.py", "pass\n", "meg", branch="fix")
    pull = world.open_pull(repo, "meg", "Take nothing for 0", head="fix")
    world.write_file(repo, "src/size.py", "1\n", "meg", branch="bot/1-crash")
    bot = BotProcess(world, app, tmp_path / "data", free_port())
    async with at_work(bot) as deliverer:
        # the bot comes to know the thread
        world.comment(repo, 1, "ana", "@bot help")
        await deliverer.settle()
        await bot.settled()
        await bot.stop()
        yield Scene(bot, repo, pull)


def payload(scene: Scene, action: str) -> dict[str, Any]:
    match action:
        case "review":
            remark = {"path": "src/size.py", "line": 1, "side": "RIGHT", "body": "x", "fingerprint": "1" * 32}
            told = {"head_sha": scene.pull.head_sha, "event": "COMMENT", "body": "One.", "comments": [remark]}
            return {**told, "outside": []}
        case "pull_request":
            return {"head": "bot/1-crash", "base": "main", "title": "Mend it", "body": "x", "draft": False}
        case _:
            return {"add": ["bug"], "remove": []}


def done(scene: Scene, action: str) -> int:
    """How often the look-alike has seen it done."""
    match action:
        case "review":
            return len(scene.pull.reviews)
        case "pull_request":
            return len(scene.world.pulls(scene.repo)) - 1
        case _:
            return [label.name for label in scene.world.issue(scene.repo, 1).labels].count("bug")


@pytest.mark.parametrize("action", ["labels", "review", "pull_request"])
@pytest.mark.parametrize("arrives", [True, False])
async def test_killed_while_it_is_done(scene: Scene, action: str, arrives: bool) -> None:
    """Before GitHub acts, or after it did and nobody heard."""
    path = {"labels": ".*/issues/1/labels", "review": ".*/reviews", "pull_request": ".*/pulls"}[action]
    await scene.want(action, payload(scene, action))
    faults = scene.world.faults
    fault = faults.lose_reply("POST", path) if arrives else faults.hold("POST", path)
    await scene.bot.start()
    await scene.bot.until(fault.met.is_set)
    await scene.bot.stop()
    assert scene.state(action)[0][0] in {OutboxState.SENDING, OutboxState.UNSURE, OutboxState.PENDING}
    faults.clear()
    await scene.bot.start()
    await scene.bot.until(lambda: scene.state(action) == [(OutboxState.POSTED,)])
    assert done(scene, action) == 1
