"""GitHub away or at a limit: who was accepted gets an answer all the same, once, and nobody hammers it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx
from fastapi import FastAPI
from sqlmodel import select

from bot.model.allowance import EVERYTHING
from bot.serving import attach
from bot.store import Session
from bot.store.tables import Allowance, Delivery, Outbox
from tests.stage import Stage, open_stage

FILES = {".github/bot.yml": "version: 1\nworkflows:\n  greet: {steps: [{id: hello, run: echo hello}]}\n"}


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that is about to be so."""
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0.02)


async def ask(stage: Stage, path: str) -> httpx.Response:
    """What the bot answers on this machine."""
    app = FastAPI()
    attach(app, stage.bot)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        return await client.get(path)


async def test_an_outage_ends_nothing_that_was_asked(tmp_path: Path) -> None:
    """Deliveries are taken while GitHub is down, few requests leave, and each gets its one answer afterwards."""
    async with open_stage(tmp_path, FILES, sandbox="off") as stage:
        issues = [stage.world.open_issue(stage.repo, "sam", f"Crash {number}", "It crashes.") for number in range(6)]
        await stage.settle()
        down = stage.world.faults.broken(503, count=10_000)
        before = len(stage.world.requests)
        for issue in issues:
            stage.world.comment(stage.repo, issue.number, "ana", "@bot greet")
        await stage.deliverer.settle()
        await until(lambda: stage.bot.github.away is not None)
        ready = await ask(stage, "/readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert "it has not answered since" in ready.json()["faults"]["github"]
        kept = await stage.bot.store.read(lambda session: len(session.exec(select(Delivery.id)).all()))
        assert kept >= 6
        assert len(stage.world.requests) - before < 30
        assert "threadsmith_github_away 1.0" in (await ask(stage, "/metrics")).text
        stage.world.faults.clear()
        assert down.met.is_set()

        def replies() -> list[int]:
            return [len(stage.replies(issue.number)) for issue in issues]

        await until(lambda: all(replies()))
        await stage.settle()
        assert replies() == [1] * 6
        assert stage.bot.github.away is None


async def test_a_limit_is_kept_and_told(tmp_path: Path) -> None:
    """What was to be said is said when it is over; the operator sees who waits, and until when."""
    async with open_stage(tmp_path, FILES, sandbox="off") as stage:
        stage.world.faults.limited(2, "GET", ".*/permission")
        stage.world.comment(stage.repo, 1, "ana", "@bot greet")
        await stage.deliverer.settle()

        def known(session: Session) -> list[Allowance]:
            mine = Allowance.installation_id == stage.installation.id
            return list(session.exec(select(Allowance).where(mine, Allowance.resource == EVERYTHING)))

        rows: list[Allowance] = []
        async with asyncio.timeout(20):
            while not rows:
                rows = await stage.bot.store.read(known)
                await asyncio.sleep(0.02)
        assert rows[0].blocked_until is not None
        assert (
            f'threadsmith_github_blocked_seconds{{installation="{stage.installation.id}"'
            in (await ask(stage, "/metrics")).text
        )
        await until(lambda: len(stage.replies()) == 1)
        dropped = await stage.bot.store.read(
            lambda session: session.exec(select(Outbox.id).where(Outbox.state == "dropped")).all()
        )
        assert list(dropped) == []
