"""The App itself, and what importing the room costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bot.errors import Forbidden, NotFound, Transient
from bot.github import AppInfo
from bot.model.thread import GHOST, Account
from tests.github.fake import BASE, FakeGitHub, answer, make_github


async def test_app() -> None:
    """Id, handle and owner."""
    server = FakeGitHub()
    server.on(
        "GET", "/app", answer({"id": 42, "slug": "bot", "owner": {"id": 1, "login": "ana", "type": "Organization"}})
    )
    github = make_github(server)
    assert await github.app() == AppInfo(42, "bot", Account(1, "ana", "Organization"))
    assert server.minted == []


async def test_app_without_a_shown_owner() -> None:
    """Nobody in particular, so that no owner is allowed by accident."""
    server = FakeGitHub()
    server.on("GET", "/app", answer({"id": 42, "slug": "bot", "owner": None}))
    assert (await make_github(server).app()).owner is GHOST


@pytest.mark.parametrize("body", [{}, {"id": 42}, {"id": "x", "slug": "bot"}, []])
async def test_app_unreadable(body: object) -> None:
    """Worth another try later."""
    server = FakeGitHub()
    server.on("GET", "/app", answer(body))
    with pytest.raises(Transient, match="cannot be read"):
        await make_github(server).app()


async def test_app_refused() -> None:
    """Key and id do not belong together, or the App is gone."""
    server = FakeGitHub()
    server.on("GET", "/app", answer({"message": "suspended"}, 403))
    with pytest.raises(Forbidden, match="suspended"):
        await make_github(server).app()


async def test_installation() -> None:
    """By name, also by an old one; NotFound where the App is not installed."""
    server = FakeGitHub()
    server.on("GET", "/repos/ana/parser/installation", answer({"id": 5}))
    server.on("GET", "/repos/ana/old/installation", answer({}, 301, location=f"{BASE}/repositories/7/installation"))
    server.on("GET", "/repositories/7/installation", answer({"id": 5}))
    github = make_github(server)
    assert await github.installation("ana", "parser") == 5
    assert await github.installation("ana", "old") == 5
    with pytest.raises(NotFound):
        await github.installation("ana", "elsewhere")


async def test_usable_after_closing() -> None:
    """Closing twice is once; a later call opens again."""
    server = FakeGitHub()
    server.on("GET", "/app", answer({"id": 42, "slug": "bot"}))
    github = make_github(server)
    await github.aclose()
    await github.app()
    await github.aclose()
    await github.aclose()
    assert (await github.app()).slug == "bot"


def test_importing_the_room_does_not_import_githubkit() -> None:
    """It costs a fifth of a second and twenty megabytes, and only a request needs it."""
    code = "import sys, bot.github; print([m for m in ('githubkit', 'jwt', 'hishel', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_githubkits_models_stay_unloaded() -> None:
    """Its schemas cost up to a second at first use: not even the client loads them."""
    code = "import sys, bot.github.kit; print([m for m in sys.modules if '.models.' in m and 'kit' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
