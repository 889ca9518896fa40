"""Effective roles of comment authors, asked of GitHub and kept for a while: they label words, they admit nobody."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.errors import Forbidden, NotFound
from bot.github import RepositoryClient
from bot.model.clock import Clock
from bot.model.role import Role
from bot.model.thread import Account

KEPT = timedelta(minutes=10)
#: (repository, account) pairs remembered at most
MOST = 10_000


class Roles:
    """A bounded memory of (repository id, account id) → role."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[tuple[int, int], tuple[datetime, Role]] = {}

    async def of(self, client: RepositoryClient, account: Account) -> Role:
        """The account's role; none where GitHub shows none. Raises `Transient` where it gives no answer now."""
        key = (client.repository.id, account.id)
        now = self._clock.now()
        known = self._known.get(key)
        if known is not None and timedelta(0) <= now - known[0] < KEPT:  # the clock may have been set back
            return known[1]
        try:
            role = Role.NONE if account.is_bot else await client.permission(account.login, account.id)
        except (NotFound, Forbidden):
            role = Role.NONE
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = (now, role)
        return role
