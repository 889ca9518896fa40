"""Asks GitHub for a sender's role, once a delivery."""

from __future__ import annotations

from bot.github import RepositoryClient
from bot.model.role import Role
from bot.model.thread import Account, Repository


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
