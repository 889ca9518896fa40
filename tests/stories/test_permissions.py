"""A permission that the App was not granted is found before the model is called, and named."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from sqlmodel import select

from bot.model.state import RunState
from bot.store import Session
from bot.store.tables import Attempt, Delivery, Dispatch, Run
from tests.fake_llm import FakeLLM, Reply
from tests.stage import Stage, open_stage
from tests.stories.talking import agent, provider, stage_with

FLOW = """\
workflows:
  flow:
    steps:
      - {id: think, agent: helper, prompt: Think.}
      - %s
"""
ALL = {"contents": "read", "issues": "write", "pull_requests": "write", "checks": "write", "actions": "read"}


def without(*names: str, **levels: str) -> dict[str, str]:
    """What the App asks for, less these."""
    return {name: level for name, level in ALL.items() if name not in names} | levels


async def ends(stage: Stage) -> list[tuple[RunState, str]]:
    """How the runs ended, and why."""

    def work(session: Session) -> list[tuple[RunState, str]]:
        return [(run.state, run.reason) for run in session.exec(select(Run).order_by(Run.id))]

    return await stage.bot.store.read(work)


async def asked(stage: Stage, fake: FakeLLM, request: str = "@bot flow", number: int = 1) -> str:
    """Ana asks for something that cannot be: what stands in the thread then. No model was called, no step begun."""
    made = await stage.says("ana", request, number)
    assert fake.requests == []
    assert await stage.bot.store.read(lambda session: session.exec(select(Attempt)).first()) is None
    assert "confused" in stage.reactions(made)
    return stage.replies(number)[-1]


@pytest.mark.parametrize(
    ("step", "granted", "lacking", "what"),
    [
        ("{id: pr, pull_request: {title: New}}", without("pull_requests"), "pull_requests: write", "`pr` opens"),
        ("{id: done, wait: {event: merged}}", without("pull_requests"), "pull_requests: read", "`done` waits for"),
        (
            "{id: look, agent: helper, prompt: Look., inputs: {logs: {checks: failed_logs}}}",
            without("actions"),
            "actions: read",
            "the input `logs` of `look` is read",
        ),
    ],
)
async def test_what_a_step_needs(tmp_path: Path, step: str, granted: dict[str, str], lacking: str, what: str) -> None:
    """It stands behind the model's step, and is looked for before that."""
    with provider(Reply("Thought.")) as fake:
        async with stage_with(tmp_path, fake, agent("[]", FLOW % step)) as stage:
            # the configuration is known already, so that nothing else lacks the permission
            await stage.says("ana", "@bot config")
            stage.world.grant(stage.installation, granted)
            told = await asked(stage, fake)
            assert told.startswith("**`flow` failed: `permission_missing` ")
            assert f"`{lacking}`: {what}" in told
            assert "accepts it in the App's settings" in told
            assert "`@bot retry r1`" in told
            ((state, reason),) = await ends(stage)
            assert state is RunState.FAILED
            assert reason.startswith(f"permission_missing: the App has not been granted `{lacking}`")


async def test_once_it_is_granted_it_runs(tmp_path: Path) -> None:
    """What was refused a moment ago is not believed any longer than that."""
    with provider(Reply("Thought.")) as fake:
        yml = agent("[]", FLOW % "{id: done, wait: {event: merged}}")
        async with stage_with(tmp_path, fake, yml) as stage:
            stage.world.grant(stage.installation, without("pull_requests"))
            await asked(stage, fake)
            stage.world.grant(stage.installation, ALL)
            await stage.says("ana", "@bot flow")
            assert len(fake.requests) == 1


async def test_where_nothing_can_be_said(tmp_path: Path) -> None:
    """Not even posting is granted: the reason stands with the run, its dispatch and the delivery."""
    with provider(Reply("Thought.")) as fake:
        async with stage_with(tmp_path, fake, agent("[]")) as stage:
            await stage.says("ana", "@bot config")
            before = stage.replies()
            stage.world.grant(stage.installation, without("issues", issues="read"))
            await stage.says("ana", "@bot helper look")
            assert fake.requests == []
            assert stage.replies() == before
            ((state, reason),) = await ends(stage)
            assert state is RunState.FAILED
            assert "`issues: write`" in reason

            def kept(session: Session) -> tuple[str, str]:
                dispatch = session.exec(select(Dispatch)).one()
                return dispatch.reason, session.get_one(Delivery, dispatch.delivery_id).reason

            told, delivered = await stage.bot.store.read(kept)
            assert told == reason
            assert reason in delivered


async def test_on_a_pull_request_posting_takes_more(tmp_path: Path) -> None:
    """`issues: write` alone is not enough there."""
    with provider(Reply("Thought.")) as fake:
        async with stage_with(tmp_path, fake, agent("[]")) as stage:
            made = pull(stage)
            await stage.says("ana", "@bot config", made)
            stage.world.grant(stage.installation, without("pull_requests", pull_requests="read"))
            await stage.says("ana", "@bot helper look", made)
            assert fake.requests == []
            ((_, reason),) = await ends(stage)
            assert "`pull_requests: write`: what it says is posted" in reason


def pull(stage: Stage) -> int:
    """A pull request."""
    stage.world.write_file(stage.repo, "a.txt", "a\n", "ana", "Add a", branch="topic")
    return int(stage.world.open_pull(stage.repo, "ana", "Topic", head="topic", base="main").number)


async def test_the_check_of_a_run_is_no_condition(tmp_path: Path) -> None:
    """Without `checks: write` a run on a pull request is told in the thread alone."""
    with provider(Reply("Thought.")) as fake:
        async with stage_with(tmp_path, fake, agent("[]")) as stage:
            made = pull(stage)
            stage.world.grant(stage.installation, without("checks", "actions"))
            await stage.says("ana", "@bot helper look", made)
            assert stage.replies(made)[-1].startswith("Thought.")


class Outage(httpx.AsyncHTTPTransport):
    """A GitHub that does not tell what was granted."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and "/app/installations/" in request.url.path:
            return httpx.Response(502, json={"message": "Bad Gateway"}, request=request)
        return await super().handle_async_request(request)


async def test_an_outage_is_no_reason_to_fail(tmp_path: Path) -> None:
    """Nobody tells what was granted: the run goes on."""
    text = 'version: 1\nagents:\n  echo: {model: "demo:echo", prompt: Repeat.}\n'
    async with open_stage(tmp_path, {".github/bot.yml": text}, transport=Outage()) as stage:
        await stage.says("ana", "@bot echo Good morning")
        assert "Good morning" in stage.replies()[-1]
