"""A broad story, each exchange of which is GitHub's: what the bot asks and what it is told, after the OpenAPI structure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from sqlmodel import select

from bot.model.state import RunState
from bot.store import Session
from bot.store.tables import Run
from tests.contract.openapi import CheckedTransport, Undocumented
from tests.stage import Stage, open_stage
from tests.stories.conftest import BOT_YML
from tests.stories.test_context import link

FILES = {
    ".github/bot.yml": BOT_YML,
    ".github/bot/workflows/slow.yml": "steps:\n  - {id: slow, run: sleep 60}\n",
    ".github/bot/workflows/asked.yml": "steps:\n  - {id: it, agent: helper, prompt: prompts/it.md}\n",
    ".github/bot/prompts/it.md": "Say what is missing.\n",
    "README.md": "# widgets\n",
}
REPO = "/repos/{owner}/{repo}"
ISSUE = f"{REPO}/issues/{{issue_number}}"
COMMENT = f"{REPO}/issues/comments/{{comment_id}}"
#: what the story leads to; each method and template with the status of success
WANTED = {
    ("GET", "/app", 200),
    ("POST", "/app/installations/{installation_id}/access_tokens", 201),
    ("GET", f"{REPO}/commits/{{ref}}", 200),
    ("GET", f"{REPO}/git/trees/{{tree_sha}}", 200),
    ("GET", f"{REPO}/git/blobs/{{file_sha}}", 200),
    ("GET", f"{REPO}/collaborators/{{username}}/permission", 200),
    ("GET", ISSUE, 200),
    ("GET", f"{ISSUE}/comments", 200),
    ("POST", f"{ISSUE}/comments", 201),
    ("POST", f"{ISSUE}/reactions", 201),
    ("GET", COMMENT, 200),
    ("PATCH", COMMENT, 200),
    ("DELETE", COMMENT, 204),
    ("POST", f"{COMMENT}/reactions", 201),
}


class Witness(CheckedTransport):
    """Keeps what was wrong: the bot takes an error in its transport for one more outage."""

    def __init__(self) -> None:
        super().__init__(httpx.AsyncHTTPTransport(), closed=True)
        self.wrong: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await super().handle_async_request(request)
        except Undocumented as error:
            self.wrong.append(str(error))
            raise


@pytest.fixture
async def played(tmp_path: Path) -> AsyncIterator[tuple[Stage, Witness]]:
    """A stage whose bot asks who it is, and what it says to GitHub."""
    witness = Witness()
    async with open_stage(tmp_path, FILES, transport=witness, app_slug="", allowed_owners=()) as stage:
        yield stage, witness


async def _running(stage: Stage) -> None:
    def state(session: Session) -> bool:
        return any(run.state is RunState.RUNNING for run in session.exec(select(Run)))

    async with asyncio.timeout(20):
        while not await stage.bot.store.read(state):
            await asyncio.sleep(0.01)


async def _play(stage: Stage) -> None:
    """Everything that the bot does, on a thread of 250 comments."""
    world = stage.world
    with world.silence():
        for n in range(250):
            world.comment(stage.repo, 1, "sam", f"comment {n}")
    first = await stage.says("sam", "Keep Python 3.9 working")
    await stage.says("meg", f"@bot pin {link(stage, first.id)}")
    await stage.says("meg", "@bot pin Always be kind")
    await stage.says("ana", "@bot helper what is this about?")
    await stage.says("ana", "@bot unpin 1")
    for body in ("check", "asked", "fails", "help", "status", "pins", "why", "config", "cancel", "chekc"):
        await stage.says("ana", f"@bot {body}")
    world.comment(stage.repo, 1, "ana", "@bot slow")
    await _running(stage)
    await stage.says("meg", "@bot cancel")
    world.delete_comment(first.id, "sam")
    opened = world.open_issue(stage.repo, "ana", "another", "@bot check")
    await stage.settle()
    # GitHub did it and the answer was lost: it is looked for
    world.faults.lose_reply("POST", r".*/issues/\d+/comments")
    await stage.says("ana", "@bot two", opened.number)
    await stage.configures("version: 1\nagents: [")
    await stage.says("ana", "@bot helper hello")
    await stage.says("ana", "@bot helper hello again")
    await stage.configures(BOT_YML)
    await stage.says("ana", "@bot two")


async def test_all_that_the_bot_says_and_hears_is_githubs(played: tuple[Stage, Witness]) -> None:
    """No request, and no answer that it relied on, is of the look-alike's own making."""
    stage, witness = played
    await _play(stage)
    assert witness.wrong == []
    assert WANTED - witness.seen == set()
    assert {seen for seen in witness.seen if seen[2] >= 400} == set()
    assert len(stage.replies(2)) == 2
    assert "second after first" in stage.replies()[-1]
