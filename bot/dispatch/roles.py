"""Roles: a sender's, asked of GitHub once a delivery, and the least that may start what a run runs."""

from __future__ import annotations

from bot.github import RepositoryClient
from bot.model.role import Role, strictest
from bot.model.thread import Account, Repository
from bot.store import Session, dispatches
from bot.store.tables import Run
from bot.workflows import Configuration


class AskedRoles:
    """The `Roles` port on one repository's client. It lives as long as one delivery is looked at, no longer."""

    def __init__(self, client: RepositoryClient) -> None:
        self._client = client
        self._known: dict[int, Role] = {}

    async def role(self, repository: Repository, account: Account) -> Role:
        """See `Roles.role`."""
        if account.id not in self._known:
            self._known[account.id] = await self._client.permission(account.login, account.id)
        return self._known[account.id]


def to_try(configuration: Configuration, name: str) -> Role:
    """The least role that may try what a branch has of that name: as the default branch says, and `write`."""
    return strictest(configuration.role_for(name), configuration.bot.trigger_role, Role.WRITE)


def to_start(session: Session, configuration: Configuration, run: Run) -> Role:
    """The least role that may start what a run runs, as it does."""
    trial = dispatches.get(session, run.dispatch_id).trial
    return to_try(configuration, run.workflow) if trial else configuration.role_for(run.workflow)
