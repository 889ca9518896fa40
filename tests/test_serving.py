"""What stands around the routes of a bot that is served."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.serving import attach
from tests.stage import app_key, open_stage

ROOT = Path(__file__).resolve().parents[1]
_SERVES = """
import gc, json, os, signal
from bot.serving import Listening, serve
from bot.settings import load

def told(port):
    print(json.dumps([gc.isenabled(), len(gc.get_objects()), gc.get_freeze_count()]), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

serve(load(os.environ, None)[0], at=Listening("127.0.0.1", 0, told), environ={})
"""


async def test_a_delivery_passes_nothing_but_the_door(tmp_path: Path) -> None:
    """No middleware of the application is asked about it; about everything else each is."""
    passed = []

    class Passed:
        def __init__(self, app: ASGIApp) -> None:
            self._app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            passed.append((scope["method"], scope["path"]))
            await self._app(scope, receive, send)

    async with open_stage(tmp_path, {}, sandbox="off") as stage:
        app = FastAPI()
        app.add_middleware(Passed)
        transport = httpx.ASGITransport(attach(app, stage.bot))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            assert (await client.post("/webhook", content=b"{}")).status_code == 401
            assert passed == []
            assert (await client.get("/webhook")).status_code == 405
            assert (await client.get("/healthz")).status_code == 200
    assert passed == [("GET", "/webhook"), ("GET", "/healthz")]


def test_what_was_made_before_the_first_request_is_passed_over(tmp_path: Path) -> None:
    """A full search for garbage has next to nothing to look at; it goes on, for what comes later."""
    env = {
        "BOT_GITHUB_URL": "http://127.0.0.1:9",
        "BOT_GITHUB_APP_ID": "1",
        "BOT_GITHUB_PRIVATE_KEY": app_key(),
        "BOT_GITHUB_WEBHOOK_SECRET": "a secret of this test",
        "BOT_ALLOWED_OWNERS": "*",
        "BOT_DATA_DIR": str(tmp_path),
        "BOT_SANDBOX": "off",
        "BOT_LOG": "error",
    }
    said = subprocess.run(
        [sys.executable, "-c", _SERVES], capture_output=True, text=True, check=True, cwd=ROOT, env=os.environ | env
    )
    collects, left, passed_over = json.loads(said.stdout.splitlines()[0])
    assert collects
    assert left < 20_000
    assert passed_over > 100_000
