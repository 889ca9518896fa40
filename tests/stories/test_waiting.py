"""Gates and waits end to end: comment in, question out, answer over the API, result out; with restarts in between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from bot.app import Bot
from bot.demo.server import LookAlikeServer
from tests.databases import on_both
from tests.restarts import Scene, at_rest, until
from tests.stage import make_world

HEAD = """\
version: 1
agents:
  echo: {model: "demo:echo", prompt: You repeat.}
workflows:
  ship:
    steps:
"""
APPROVE = """
      - {id: plan, run: "echo 'Step 1: read. Step 2: write.'"}
      - id: approve
        ask: Build this plan?
        show: "${{ steps.plan.output }}"
        options: {approve: build, revise: {rework: plan}, stop: end}
        rework: {to: plan, max_loops: 2}
        who: {role: maintain, dashboard: true}
        timeout: 3d
        on_timeout: stop
      - {id: build, run: "echo built, because $WHY", env: {WHY: "${{ steps.approve.result.text }}"}}
"""


@asynccontextmanager
async def scene(folder: Path, steps: str) -> AsyncIterator[Scene]:
    """A world whose workflow `ship` has these steps."""
    world, _, app, _ = make_world(folder / "github", {".github/bot.yml": HEAD + steps.lstrip("\n")})
    async with LookAlikeServer(world):
        yield Scene(world, app, folder)


async def says(here: Scene, bot: Bot, author: str, body: str) -> None:
    """Somebody comments; returns when the bot has nothing left to do."""
    here.world.comment("acme/widgets", 1, author, body)
    await until(lambda: all(made.attempts for made in here.world.deliveries))
    await at_rest(bot)


async def only_gate(client: httpx.AsyncClient) -> dict[str, Any]:
    """The one open gate."""
    (gate,) = (await client.get("/api/gates", params={"state": "open"})).json()["items"]
    return dict(gate)


async def answer(client: httpx.AsyncClient, gate: dict[str, Any], **body: Any) -> int:
    """Answer it over the API."""
    return (await client.post(f"/api/gates/{gate['id']}/answer", json=body)).status_code


@on_both
async def test_a_plan_is_approved_after_a_restart(tmp_path: Path) -> None:
    """The question is asked once; whoever answers is named in it; the result is a comment of its own."""
    async with scene(tmp_path, APPROVE) as here:
        async with here.bot() as (bot, _):
            await says(here, bot, "ana", "@bot ship")
            (asked,) = here.replies()
            assert asked.startswith(
                "**Build this plan?** Asked by `r1.approve`; a maintainer or whoever runs the bot can answer until"
            )
            assert "Step 1: read. Step 2: write." in asked
            assert "- [ ] approve\n- [ ] revise" in asked
        async with here.bot() as (bot, client):
            await at_rest(bot)
            assert here.replies() == [asked]
            gate = await only_gate(client)
            assert (gate["name"], gate["thread"]["number"], gate["requester"]) == ("r1.approve", 1, "ana")
            assert await answer(client, gate, answer="approve", text="it is small") == 200
            await at_rest(bot)
            settled, result = here.replies()
            assert "✅ Answered by `operator` on " in settled
            assert ": **`approve`**\n\n> it is small" in settled
            assert "- [" not in settled
            assert "built, because it is small" in result
            assert await answer(client, gate, answer="stop") == 409


async def test_sent_back_and_asked_again(tmp_path: Path) -> None:
    """Each time it is another question, in a comment of its own."""
    async with scene(tmp_path, APPROVE) as here, here.bot() as (bot, client):
        await says(here, bot, "ana", "@bot ship")
        assert await answer(client, await only_gate(client), answer="revise", text="smaller") == 200
        await at_rest(bot)
        first, second = here.replies()
        assert "**`revise`**\n\n> smaller" in first
        assert "can answer until" in second


async def test_a_form(tmp_path: Path) -> None:
    """Its answers reach the steps that follow."""
    steps = """
      - id: form
        ask: How shall it be?
        questions:
          - {id: size, question: "How big?", type: number}
          - {id: colour, question: Which colour?, type: enum, options: [red, blue], required: false}
        writes: [size]
        who: {dashboard: true}
      - {id: make, run: "echo made $SIZE", env: {SIZE: "${{ ctx.size }}"}}
"""
    async with scene(tmp_path, steps) as here, here.bot() as (bot, client):
        await says(here, bot, "ana", "@bot ship")
        gate = await only_gate(client)
        assert [one["id"] for one in gate["questions"]] == ["size", "colour"]
        assert await answer(client, gate, answers={"colour": "green"}) == 422
        assert await answer(client, gate, answers={"size": 7, "colour": "red"}) == 200
        await at_rest(bot)
        settled, result = here.replies()
        assert "- How big?: `7`\n- Which colour?: `red`" in settled
        assert "made 7" in result


async def test_a_wait_for_a_label(tmp_path: Path) -> None:
    """Somebody sets it while the bot is away or there; the run goes on with its name."""
    steps = """
      - {id: w, wait: {event: labeled}}
      - {id: told, run: "echo it is $LABEL now", env: {LABEL: "${{ steps.w.result.label }}"}}
"""
    async with scene(tmp_path, steps) as here:
        async with here.bot() as (bot, _):
            await says(here, bot, "ana", "@bot ship")
            assert here.rows("SELECT state FROM run") == [("waiting",)]
        here.world.set_labels("acme/widgets", 1, "meg", ["ready"])
        async with here.bot() as (bot, _):
            await at_rest(bot)
            (result,) = here.replies()
            assert "it is ready now" in result


async def test_a_wait_for_a_comment(tmp_path: Path) -> None:
    """A command is none."""
    steps = """
      - {id: w, wait: {event: comment}}
      - {id: told, run: "echo $WHO said it", env: {WHO: "${{ steps.w.result.actor }}"}}
"""
    async with scene(tmp_path, steps) as here, here.bot() as (bot, _):
        await says(here, bot, "ana", "@bot ship")
        await says(here, bot, "ana", "@bot status")
        assert here.rows("SELECT state FROM run") == [("waiting",)]
        await says(here, bot, "sam", "here you are")
        assert "sam said it" in here.replies()[-1]


async def test_a_run_that_waits_is_cancelled(tmp_path: Path) -> None:
    """Its question says that nobody need answer it any more, and nobody can."""
    async with scene(tmp_path, APPROVE) as here, here.bot() as (bot, client):
        await says(here, bot, "ana", "@bot ship")
        gate = await only_gate(client)
        await says(here, bot, "ana", "@bot cancel r1")
        asked, cancelled = here.replies()
        assert "✖️ Not to be answered any more: the run has ended." in asked
        assert "was cancelled by `ana`" in cancelled
        assert await answer(client, gate, answer="approve") == 409


async def test_the_api_has_a_password(tmp_path: Path) -> None:
    """Nobody answers without it; deliveries need none."""
    async with scene(tmp_path, APPROVE) as here, here.bot(dashboard_password="a password of tests") as (bot, client):
        await says(here, bot, "ana", "@bot ship")
        assert (await client.get("/api/gates")).status_code == 401
        client.headers["authorization"] = "Bearer a password of tests"
        assert await answer(client, await only_gate(client), answer="stop") == 200
        await at_rest(bot)
        assert "**`stop`**" in here.replies()[0]
