"""The App itself, and what importing the room costs."""

from __future__ import annotations

import json
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


async def test_a_repository_is_found_by_its_name() -> None:
    """As long as it is called so: whom an old name leads to is somebody else's to say. Asked once in five minutes."""
    server = FakeGitHub()
    github = make_github(server)
    owner = {"id": 4, "login": "Acme", "type": "Organization"}
    shown = {"id": 9, "name": ".github", "owner": owner, "private": True}
    server.on("GET", "/repos/acme/.github/installation", answer({"id": 5}))
    server.mint_answers = [answer({"token": "ghs_x", "repositories": [shown]}, 201)]
    client = await github.named("acme", ".github")
    found = client.repository
    assert (found.id, found.owner.id, found.private, found.full_name) == (9, 4, True, "Acme/.github")
    asked = len(server.requests)
    assert await github.named("ACME", ".github") is client
    assert len(server.requests) == asked
    server.clock.advance(301)
    server.mint_answers = [answer({"repositories": [shown | {"name": "renamed"}]}, 201)]
    with pytest.raises(NotFound, match="is called Acme/renamed now"):
        await github.named("acme", ".github")
    server.mint_answers = [answer({"repositories": [shown]}, 201)]
    await github.named("acme", ".github")
    github.forget("acme", ".github")
    server.mint_answers = [answer({"message": "not accessible to the parent installation"}, 422)]
    with pytest.raises(NotFound, match="not accessible"):
        await github.named("acme", ".github")
    server.mint_answers = [answer({"repositories": []}, 201)]
    with pytest.raises(Transient, match="cannot be read"):
        await github.named("acme", ".github")
    with pytest.raises(NotFound):
        await github.named("nowhere", ".github")
    asked_for = json.loads(server.requests[asked - 1].content)
    assert asked_for == {"repositories": [".github"], "permissions": {"metadata": "read"}}
    await github.aclose()
