"""`steer`: what is said to a run that is under way stands in the next request to its model, once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlmodel import select

from bot.model.state import RunState
from bot.store import Session
from bot.store.tables import Attempt, Run, Steer
from tests.fake_llm import FakeLLM, Reply, Request
from tests.stage import Stage
from tests.stories.talking import agent, answer, calls, dumped, open_gates, operator, provider, stage_with

#: a command that ends when the test says so
WAITING = "until [ -e {go} ]; do sleep 0.05; done; echo went on"


def waiting(go: Path, more: str = "") -> str:
    """An agent whose command waits for a file."""
    return agent("[run_command]", more)


async def until_asked(fake: FakeLLM, count: int) -> None:
    """Until the provider has been asked so often."""
    assert await asyncio.to_thread(fake.wait_for_requests, count, 60)


async def tells(stage: Stage, author: str, body: str) -> list[str]:
    """Somebody comments while a run goes on: the bot's reactions, once the delivery was looked at."""
    made = stage.world.comment(stage.repo, 1, author, body)
    before = len(stage.replies())
    async with asyncio.timeout(10):
        while not stage.reactions(made) and len(stage.replies()) == before:
            await asyncio.sleep(0.01)
    return stage.reactions(made)


def said(request: Request, text: str) -> int:
    """How often a text stands in the messages of the people of a request."""
    return sum(str(one["content"]).count(text) for one in request.body["messages"] if one["role"] == "user")


async def test_it_stands_in_the_next_request_and_once(tmp_path: Path) -> None:
    """Said between two turns: who, when and the words, in a block of their own; recorded, and shown by `why`."""
    go = tmp_path / "go"
    script = (
        calls("run_command", command=WAITING.format(go=go)),
        calls("run_command", command="echo b"),
        Reply("Done."),
    )
    with provider(*script) as fake:
        async with stage_with(tmp_path, fake, agent("[run_command]"), sandbox="off") as stage:
            stage.world.comment(stage.repo, 1, "ana", "@bot helper look")
            await until_asked(fake, 1)
            assert await tells(stage, "meg", "@bot steer Leave the parser alone.\nIt is not ours.") == ["+1"]
            go.touch()
            await stage.settle()
            await stage.says("ana", "@bot why r1")
            rows = await stage.bot.store.read(lambda session: session.exec(select(Steer)).all())
            attempts = await stage.bot.store.read(lambda session: session.exec(select(Attempt)).all())
            assert "| said by meg, " in stage.replies()[-1]
        first, second, third = fake.requests
        assert said(first, "parser") == 0
        assert said(second, "Leave the parser alone.\nIt is not ours.") == 1
        assert said(third, "Leave the parser alone.") == 1
        (block,) = [one["content"] for one in second.body["messages"] if "parser" in str(one["content"])]
        assert "kind=steer trust=writer source=" in block
        assert "by meg (maintain), " in block
        (row,) = rows
        assert row.attempt_id == attempts[0].id
        assert row.read_at is not None
