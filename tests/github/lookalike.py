"""The App's client of a scene's repository: the real one, on the look-alike."""

from __future__ import annotations

from bot.github import GitHub, RepositoryClient
from bot.model.thread import Account, Repository
from tests.contract.openapi import CheckedTransport
from tests.demo.scene import Scene, key


def client_of(made: Scene, *, unchecked: bool = False) -> RepositoryClient:
    """The App's client of the scene's repository, every exchange of it checked unless told otherwise."""
    inner = made.transport.inner
    github = GitHub(
        base_url=made.world.api_url, app_id=str(made.app.id), private_key=key(), clock=made.clock,
        transport=inner if unchecked else CheckedTransport(inner, closed=True),
    )  # fmt: skip
    repo = made.repo
    owner = Account(repo.owner.id, repo.owner.login)
    return github.repository(made.installation.id, Repository(repo.id, owner, repo.name))
