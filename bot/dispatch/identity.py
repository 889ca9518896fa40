"""Who this App is: its handle, its bot account, and the owners it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from bot.github import GitHub
from bot.model.thread import Account, Comment


@dataclass(frozen=True, slots=True)
class Identity:
    """`owners` are logins (casefolded) and ids as text; `*` among them serves everybody."""

    app_id: int
    slug: str
    owners: frozenset[str]

    @property
    def handle(self) -> str:
        return f"@{self.slug}"

    @property
    def login(self) -> str:
        """The login of the App's bot account."""
        return f"{self.slug}[bot]"

    def serves(self, owner: Account) -> bool:
        """Whether repositories of `owner` are served."""
        return bool(self.owners & {"*", str(owner.id), owner.login.casefold()})

    def is_me(self, account: Account) -> bool:
        return account.login.casefold() == self.login.casefold()


class Identities:
    """Asks GitHub for what the settings leave open, once; a failure is asked again by the next caller."""

    def __init__(self, github: GitHub, app_id: int, slug: str, allowed_owners: Collection[str]) -> None:
        self._github, self._app_id, self._slug = github, app_id, slug
        self._owners = frozenset(owner.casefold() for owner in allowed_owners)
        self._known: Identity | None = None
        self._turn = asyncio.Lock()
        self._accounts: set[int] = set()

    @property
    def accounts(self) -> frozenset[int]:
        """The numbers of this App's bot account, as far as its own comments have told them."""
        return frozenset(self._accounts)

    @property
    def handle(self) -> str:
        """The handle as far as it is known, for hints: before GitHub was asked, `@bot`."""
        return self._known.handle if self._known else f"@{self._slug or 'bot'}"

    def mine(self, comment: Comment) -> bool:
        """Whether a comment was written by this App."""
        if comment.app_id is not None:
            return comment.app_id == self._app_id
        return self._known is not None and self._known.is_me(comment.author)

    def wrote(self, sender: Account, comment: Comment | None) -> bool:
        """Whether a bot that did something to its own comment is this App: its name may be another by now."""
        ours = comment is not None and sender.is_bot and sender.id == comment.author.id and self.mine(comment)
        if ours:
            self._accounts.add(sender.id)
        return ours

    async def get(self) -> Identity:
        """Raises what asking raises: `Transient`, `Forbidden`, `NotFound`."""
        async with self._turn:
            if self._known is None:
                slug, owners = self._slug, self._owners
                if not slug or not owners:
                    app = await self._github.app()
                    slug = slug or app.slug
                    owners = owners or frozenset({app.owner.login.casefold(), str(app.owner.id)})
                self._known = Identity(self._app_id, slug, owners)
            return self._known
