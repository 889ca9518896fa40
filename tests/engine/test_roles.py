"""Roles of comment authors: asked, and kept for a while."""

from __future__ import annotations

import pytest

from bot.engine.roles import KEPT, Roles
from bot.errors import Transient
from bot.github import RepositoryClient
from bot.model.role import Role
from bot.model.thread import Account, Repository
from tests.github.fake import FakeClock, FakeGitHub, answer, make_github
from tests.rows import ANA, NOW, REPOSITORY

PATH = "/repos/acme/widgets/collaborators/ana/permission"


def client(server: FakeGitHub, repository: Repository = REPOSITORY) -> RepositoryClient:
    return make_github(server).repository(5, repository)


async def test_a_role_is_kept_for_ten_minutes() -> None:
    """Then it is asked again; another repository is another question."""
    server = FakeGitHub(FakeClock(NOW))
    roles = Roles(server.clock)
    server.on("GET", PATH, answer({"role_name": "write"}), answer({"role_name": "read"}))
    assert await roles.of(client(server), ANA) is Role.WRITE
    server.clock.advance(KEPT.total_seconds() - 1)
    assert await roles.of(client(server), ANA) is Role.WRITE
    assert len(server.sent()) == 1
    server.clock.advance(1)
    assert await roles.of(client(server), ANA) is Role.READ
    other = Repository(502, REPOSITORY.owner, "gadgets")
    server.on("GET", "/repos/acme/gadgets/collaborators/ana/permission", answer({"role_name": "admin"}))
    assert await roles.of(client(server, other), ANA) is Role.ADMIN


@pytest.mark.parametrize("status", [403, 404])
async def test_no_answer_for_good_is_no_role(status: int) -> None:
    """And that is kept too."""
    server = FakeGitHub(FakeClock(NOW))
    roles = Roles(server.clock)
    server.on("GET", PATH, answer({"message": "no"}, status))
    assert [await roles.of(client(server), ANA) for _ in range(2)] == [Role.NONE] * 2
    assert len(server.sent()) == 1


async def test_a_fault_is_raised_and_not_kept() -> None:
    """The step is tried again."""
    server = FakeGitHub(FakeClock(NOW))
    roles = Roles(server.clock)
    server.on("GET", PATH, answer({}, 502, retry_after="60"), answer({"role_name": "write"}))
    with pytest.raises(Transient):
        await roles.of(client(server), ANA)
    assert await roles.of(client(server), ANA) is Role.WRITE


async def test_bots_have_no_role_and_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub is not asked for a bot; nothing grows without end."""
    server = FakeGitHub(FakeClock(NOW))
    roles = Roles(server.clock)
    assert await roles.of(client(server), Account(80, "deploy[bot]", "Bot")) is Role.NONE
    assert server.requests == []
    monkeypatch.setattr("bot.engine.roles.MOST", 3)
    for number in range(10):
        await roles.of(client(server), Account(number + 1, f"p{number}"))
    assert len(roles._known) <= 3
