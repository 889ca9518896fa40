"""Broad stories in which every exchange is GitHub's: what the bot asks and is told, against the OpenAPI structure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
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
ASKED = {
    ("GET", "/app", 200),
    ("POST", "/app/installations/{installation_id}/access_tokens", 201),
    ("GET", f"{REPO}/commits/{{ref}}", 200),
    ("GET", f"{REPO}/git/trees/{{tree_sha}}", 200),
    ("GET", f"{REPO}/git/blobs/{{file_sha}}", 200),
    ("GET", f"{REPO}/collaborators/{{username}}/permission", 200),
}
REACTED = ("POST", f"{COMMENT}/reactions", 201)
POSTED = ("POST", f"{ISSUE}/comments", 201)
READ = {("GET", ISSUE, 200), ("GET", f"{ISSUE}/comments", 200)}


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


async def _under_way(stage: Stage) -> None:
    def state(session: Session) -> bool:
        return any(run.state is RunState.RUNNING for run in session.exec(select(Run)))

    async with asyncio.timeout(20):
        while not await stage.bot.store.read(state):
            await asyncio.sleep(0.01)


async def pinning(stage: Stage) -> None:
    """A thread of 250 comments, one of them pinned, and an agent that is given them."""
    with stage.world.silence():
        for n in range(250):
            stage.world.comment(stage.repo, 1, "sam", f"comment {n}")
    first = await stage.says("sam", "Keep Python 3.9 working")
    await stage.says("meg", f"@bot pin {link(stage, first.id)}")
    await stage.says("ana", "@bot helper what is this about?")
    await stage.says("ana", "@bot unpin 1")
    index, answer = stage.replies()
    assert "Nothing is pinned" in index
    assert "1 pin" in answer


async def running(stage: Stage) -> None:
    """A clone, a failure, a cancellation."""
    await stage.says("ana", "@bot check")
    await stage.says("ana", "@bot fails")
    stage.world.comment(stage.repo, 1, "ana", "@bot slow")
    await _under_way(stage)
    await stage.says("meg", "@bot cancel")
    checked, failed, cancelled = stage.replies()
    assert "checked 1" in checked
    assert "`fails` failed" in failed
    assert "was cancelled" in cancelled


async def faults(stage: Stage) -> None:
    """An issue that asks; an answer that was lost is looked for; what stands there twice is taken back."""
    stage.world.faults.lose_reply("POST", r".*/issues/\d+/comments")
    opened = stage.world.open_issue(stage.repo, "ana", "another", "@bot two")
    await stage.settle()
    (answer,) = [c for c in stage.world.comments(stage.repo, opened.number) if c.author is stage.app.bot]
    stage.world.comment(stage.repo, opened.number, stage.app.bot, answer.body)
    await stage.settle()
    assert len(stage.replies(opened.number)) == 1


async def configuring(stage: Stage) -> None:
    """Workflows and prompts in files of their own; a broken file, and the mended one; what is in force."""
    await stage.says("ana", "@bot asked")
    await stage.configures("version: 1\nagents: [")
    await stage.says("ana", "@bot helper hello")
    await stage.configures(BOT_YML)
    await stage.says("ana", "@bot config")
    await stage.says("ana", "@bot help")
    answer, broken, force, roster = stage.replies()
    assert "I was given" in answer
    assert "cannot be used" in broken
    assert "Configuration in force" in force
    assert "`@bot helper …`" in roster


@pytest.mark.parametrize(
    ("act", "wanted"),
    [
        (pinning, READ | {("GET", COMMENT, 200), ("PATCH", COMMENT, 200), REACTED, POSTED}),
        (running, {REACTED, POSTED}),
        (faults, {("POST", f"{ISSUE}/reactions", 201), ("DELETE", COMMENT, 204)}),
        (configuring, READ | {REACTED, POSTED}),
    ],
)
async def test_all_that_the_bot_says_and_hears_is_githubs(
    played: tuple[Stage, Witness], act: Callable[[Stage], Awaitable[None]], wanted: set[tuple[str, str, int]]
) -> None:
    """No request, and no answer that it relied on, is of the look-alike's own making."""
    stage, witness = played
    await act(stage)
    assert witness.wrong == []
    assert (ASKED | wanted) - witness.seen == set()
    assert {seen for seen in witness.seen if seen[2] >= 400} == set()


async def test_a_request_that_github_does_not_know_is_found(played: tuple[Stage, Witness]) -> None:
    """Or the tests above would show nothing."""
    stage, witness = played
    async with httpx.AsyncClient(transport=witness, base_url=stage.world.api_url) as client:
        with pytest.raises(Undocumented):
            await client.get("/repos/acme/widgets/nonsense")
    assert len(witness.wrong) == 1
