"""What dispatching works with, handed to whoever needs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from bot.dispatch.admission import NO_CEILINGS, Ceilings
from bot.dispatch.bases import Bases
from bot.dispatch.configuration import Configured, current
from bot.dispatch.identity import Identities
from bot.github import GitHub, RepositoryClient
from bot.model.clock import Clock
from bot.publish import Marker, Speaker
from bot.store import Store
from bot.workflows import Memo

DEBOUNCE = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Parts:
    """The instance's database, GitHub, voice, clock, and its operator's ceilings.

    `debounce`: how long a push is held, should another follow.
    """

    store: Store
    github: GitHub
    identities: Identities
    memo: Memo
    marker: Marker
    speaker: Speaker
    clock: Clock
    ceilings: Ceilings = NO_CEILINGS
    debounce: timedelta = DEBOUNCE
    #: whether this instance has what it takes to ask a model, such as a key; None where nobody knows
    can_ask: Callable[[str], bool] | None = None

    async def configured(self, client: RepositoryClient) -> Configured:
        """A repository's configuration at the head of its default branch. Raises what GitHub's answer raises."""
        identity = await self.identities.get()
        return await current(client, client.repository, self.memo, Bases(self.github, identity.serves))
