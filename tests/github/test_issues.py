"""Threads that the App opens and finds again, and who last changed a file."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.errors import NotFound, Unsure
from tests.demo.scene import scene
from tests.github.fake import FakeGitHub, answer, issue_json, make_client
from tests.github.lookalike import client_of

REPO = "/repos/ana/parser"


async def test_an_issue_of_our_own(tmp_path: Path) -> None:
    """Opened with its labels, and found again among those that changed since; other people's are not."""
    made = scene(tmp_path)
    client, before = client_of(made), made.clock.now()
    made.world.open_issue(made.repo, "meg", "Another")
    made.world.write_file(made.repo, "a", "b", "meg", branch="a")
    made.world.open_pull(made.repo, made.app.bot, "Ours, but no issue", head="a", app=made.app)
    row = await client.open_issue("Weekly report", "Nothing broke.", ["report", "bot"])
    assert (row.title, row.body, row.labels) == ("Weekly report", "Nothing broke.", ("report", "bot"))
    assert row.author.login == "bot[bot]"
    made.world.set_state(made.repo, row.number, "meg", "closed")
    assert [one.number for one in await client.issues_since(before, "Bot[bot]")] == [row.number]
    made.clock.advance(60)
    assert await client.issues_since(made.clock.now(), "bot[bot]") == ()
    made.repo.has_issues = False
    with pytest.raises(NotFound):
        await client.open_issue("x", "y")


async def test_a_lost_answer_and_other_servers() -> None:
    """Unsure, once sent; where `since` is unknown, older ones are left out here; page after page is read."""
    server = FakeGitHub()
    client = make_client(server)
    server.on("POST", f"{REPO}/issues", answer({}, 502))
    with pytest.raises(Unsure):
        await client.open_issue("x", "y")
    assert len(server.sent()) == 1
    bot = {"id": 9, "login": "bot[bot]", "type": "Bot"}
    now, old = "2026-03-02T11:00:00Z", "2026-03-01T11:00:00Z"
    link = f'<https://api.github.test{REPO}/issues?page=2>; rel="next"'
    server.on(
        "GET", f"{REPO}/issues",
        answer([issue_json(1, user=bot, updated_at=now), issue_json(2, user=bot, updated_at=old)], Link=link),
        answer([issue_json(3, user=bot, updated_at=now), issue_json(4, updated_at=now)]),
    )  # fmt: skip
    since = server.clock.now() - timedelta(hours=2)
    assert [one.number for one in await client.issues_since(since, "bot[bot]")] == [1, 3]
    asked = server.sent("GET")[0].url.params
    assert (asked["since"], asked["state"], "creator" in asked) == ("2026-03-02T10:00:00Z", "all", False)


async def test_who_last_changed_a_file(tmp_path: Path) -> None:
    """On the default branch; nobody where no commit touched it."""
    made = scene(tmp_path)
    client = client_of(made)
    made.world.write_file(made.repo, ".github/bot.yml", "version: 1\n", "meg")
    made.world.write_file(made.repo, "README.md", "x", "ana")
    made.world.write_file(made.repo, ".github/bot.yml", "x", "ana", branch="elsewhere")
    found = await client.last_committer(".github/bot.yml")
    assert found is not None
    assert (found.login, found.id) == ("meg", made.world.user("meg").id)
    assert await client.last_committer("none") is None


async def test_commits_that_say_little() -> None:
    """The author where GitHub itself committed; nobody where an e-mail address is nobody's; no empty repository."""
    server = FakeGitHub()
    client = make_client(server)
    web = {"id": 1, "login": "web-flow", "type": "User"}
    meg = {"id": 11, "login": "meg", "type": "User"}
    for row, login in (
        ({"committer": web, "author": meg}, "meg"),
        ({"committer": web, "author": None}, None),
        ({"committer": None, "author": meg}, None),
        ({"committer": {}, "author": meg}, None),
    ):
        server.on("GET", f"{REPO}/commits", answer([row]))
        found = await client.last_committer("a")
        assert (found and found.login) == login
    server.on("GET", f"{REPO}/commits", answer({"message": "Git Repository is empty."}, 409))
    with pytest.raises(NotFound):
        await client.last_committer("a")
