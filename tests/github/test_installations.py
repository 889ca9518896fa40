"""Where the App is installed, what it may do there, and repositories by number."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.demo.records import App
from bot.errors import Forbidden, NotFound, Transient
from bot.github import GitHub, Purpose
from tests.contract.openapi import CheckedTransport
from tests.demo.scene import Scene, key, scene
from tests.github.fake import FakeClock, FakeGitHub, answer, make_github
from tests.github.lookalike import client_of


def github_of(made: Scene) -> GitHub:
    """The App's client, every exchange checked."""
    return GitHub(
        base_url=made.world.api_url, app_id=str(made.app.id), private_key=key(), clock=made.clock,
        transport=CheckedTransport(made.transport.inner, closed=True),
    )  # fmt: skip


async def test_everywhere_it_is_installed(tmp_path: Path) -> None:
    """Suspended installations too, other Apps' not; page after page."""
    made = scene(tmp_path)
    github = github_of(made)
    other: App = made.world.add_app("other", "ana", private_key=key())
    made.world.install(other, "meg")
    there = made.world.install(made.app, "sam", [])
    made.world.suspend(there)
    first, second = await github.installations()
    assert (first.id, first.account.login, first.suspended) == (made.installation.id, "ana", False)
    assert first.permissions["issues"] == "write"
    assert "issue_comment" in first.events
    assert (second.id, second.suspended) == (there.id, True)
    for number in range(100):
        made.world.install(made.app, made.world.add_user(f"user{number}"), [])
    assert len(await github.installations()) == 102


async def test_all_repositories_of_an_installation(tmp_path: Path) -> None:
    """More than a page of them, archived ones marked; nobody else's."""
    made = scene(tmp_path)
    github = github_of(made)
    for number in range(3):
        made.world.add_repository("ana", f"repo{number}", private=True)
    made.world.add_repository("meg", "hers")
    made.world.archive_repository("ana/repo1")
    found = await github.repositories(made.installation.id)
    assert [one.full_name for one in found] == ["ana/parser", "ana/repo0", "ana/repo1", "ana/repo2"]
    assert [one.archived for one in found] == [False, False, True, False]
    assert (found[1].private, found[0].owner.login) == (True, "ana")
    asked = made.world.requests[-1]
    assert (asked.permissions, asked.repository_ids) == ({"metadata": "read"}, None)


async def test_many_repositories_and_a_token_that_ended() -> None:
    """Each page is asked for; a token that is refused is taken anew."""
    server = FakeGitHub()
    path = "/installation/repositories"
    link = '<https://api.github.test/installation/repositories?page=2>; rel="next"'
    owner = {"id": 1, "login": "ana"}
    rows = [{"id": n, "name": f"r{n}", "owner": owner} for n in (1, 2)]
    server.on(
        "GET", path,
        answer({"repositories": rows[:1]}, Link=link),
        answer({"message": "Bad credentials"}, 401),
        answer({"repositories": rows[1:]}),
        answer({"message": "Suspended"}, 403),
    )  # fmt: skip
    github = make_github(server)
    assert [one.id for one in await github.repositories(5)] == [1, 2]
    assert [request.url.params["page"] for request in server.sent()] == ["1", "2", "2"]
    assert server.minted == [{"permissions": {"metadata": "read"}}] * 2
    with pytest.raises(Forbidden):
        await github.repositories(5)


async def test_what_is_granted_is_known_before_it_is_needed(tmp_path: Path) -> None:
    """Asked once in five minutes, and again once a webhook told of a change."""
    made = scene(tmp_path)
    github, number = github_of(made), made.installation.id
    assert (await github.granted(number))["checks"] == "write"
    assert await github.missing(number, Purpose.POST_CHECKS, Purpose.POST) == ()
    made.world.grant(made.installation, {"checks": "read", "contents": "read"})
    assert (await github.granted(number))["checks"] == "write"
    github.forget_grants(number)
    assert await github.missing(number, Purpose.POST_CHECKS, Purpose.POST, Purpose.POST_PULL) == (
        "checks: write", "issues: write", "pull_requests: write",
    )  # fmt: skip
    made.world.grant(made.installation, {"issues": "write", "contents": "read"})
    made.clock.advance(301)
    assert await github.missing(number, Purpose.READ, Purpose.POST) == ()
    asked = [seen for seen in made.world.requests if seen.path == f"/app/installations/{number}"]
    assert len(asked) == 3
    made.world.uninstall(made.installation)
    github.forget_grants(number)
    with pytest.raises(NotFound):
        await github.granted(number)


async def test_installations_that_cannot_be_read() -> None:
    """An answer that is none is an outage, and not kept."""
    clock = FakeClock()
    server = FakeGitHub(clock)
    server.on("GET", "/app/installations/5", answer({"id": 5}), answer({"id": 5, "permissions": {"issues": "read"}}))
    github = make_github(server)
    with pytest.raises(Transient):
        await github.granted(5)
    assert await github.granted(5) == {"issues": "read"}
    assert (await github.installed(5)).account.login == "ghost"


async def test_a_repository_by_number(tmp_path: Path) -> None:
    """Under the name that it has now; not where it is gone, or another account's."""
    made = scene(tmp_path)
    github = github_of(made)
    made.world.rename_repository(made.repo, "lexer")
    client = await github.numbered(made.installation.id, made.repo.id)
    assert client.repository.full_name == "ana/lexer"
    assert (await client.issue(1)).title == made.issue.title
    made.world.transfer_repository(made.repo, "meg")
    with pytest.raises(NotFound):
        await github.numbered(made.installation.id, made.repo.id)


async def test_files_and_configuration_of_a_fork(tmp_path: Path) -> None:
    """The head of a fork's pull request is read through the repository that it goes to."""
    made = scene(tmp_path)
    world, client = made.world, client_of(made)
    fork = world.fork(made.repo, "sam")
    world.set_role(fork, "sam", "admin")
    world.write_files(fork, {".github/bot.yml": "version: 1\n", ".github/bot/a.yml": "x\n"}, "sam", "Mine", branch="x")
    pull = world.open_pull(made.repo, "sam", "From afar", head="sam:x")
    shown = await client.pull_request(pull.number)
    assert (shown.from_fork, shown.is_open, shown.author.type) == (True, True, "User")
    files = await client.configuration_files(shown.head_sha)
    assert files == {".github/bot.yml": b"version: 1\n", ".github/bot/a.yml": b"x\n"}
    world.set_state(made.repo, pull.number, "sam", "closed")
    assert not (await client.pull_request(pull.number)).is_open
