"""One event that somebody else caused, and what may be asked about it before anything is decided."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from bot.dispatch.acceptance import Acceptance, Asked
from bot.dispatch.authorise import Allowed, Denied, Later, Rules, authorise
from bot.dispatch.configuration import Configured
from bot.dispatch.identity import Identity
from bot.dispatch.parts import Parts
from bot.dispatch.roles import AskedRoles
from bot.errors import BotError
from bot.github import RepositoryClient
from bot.model.event import Event
from bot.model.role import Role
from bot.store import Session
from bot.store.tables import Delivery, Thread
from bot.workflows import Configuration


class Postponed(BotError):
    """Nothing can be decided about a delivery before `until`; `reason` is kept with it. Nobody waits for it.

    `trying`: GitHub did not answer, and patience with it has its end.
    """

    def __init__(self, until: datetime, reason: str, *, trying: bool = False) -> None:
        super().__init__(reason)
        self.until = until
        self.reason = reason
        self.trying = trying


@dataclass(frozen=True, slots=True)
class Heard:
    """What an event means besides its mentions. `act` does it, in the delivery's one transaction and without I/O.

    `reason` is kept with the delivery. `silent`: it is no request, so that a delivery with nothing else is `ignored`.
    """

    reason: str
    act: Callable[[Session, Thread], None]
    silent: bool = False


def silent(reason: str) -> Heard:
    """Nothing follows; the reason is kept."""
    return Heard(reason, _nothing, silent=True)


def _nothing(_session: Session, _thread: Thread) -> None:
    """What is silent leaves no rows."""


class Occasion:
    """An event with its delivery. What GitHub is asked is asked once, and only if somebody wants to know."""

    def __init__(
        self,
        parts: Parts,
        delivery: Delivery,
        event: Event,
        identity: Identity,
        client: RepositoryClient,
        *,
        configured: Configured | None = None,
        roles: AskedRoles | None = None,
    ) -> None:
        self.parts, self.delivery, self.event = parts, delivery, event
        self.identity, self.client = identity, client
        self._configured = configured
        self._roles = roles or AskedRoles(client)
        #: what its mentions ask for and the sender may, once that is known
        self.asked: tuple[Asked, ...] = ()

    @property
    def known(self) -> Configured | None:
        """The configuration, where somebody has asked for it."""
        return self._configured

    async def configured(self) -> Configured:
        """The configuration at the head of the default branch. Raises what reading it raises."""
        if self._configured is None:
            self._configured = await self.parts.configured(self.client)
        return self._configured

    async def usable(self) -> Configuration:
        """The configuration, or the product's own where that cannot be used."""
        usable = (await self.configured()).configuration or self.parts.memo.defaults().configuration
        assert usable is not None, "the product's own configuration is valid"
        return usable

    async def authorised(self, needed: Role) -> Allowed | Denied:
        """Whether the sender may do what needs this role. Raises `Postponed` where GitHub does not tell now."""
        usable, own = await self.usable(), self.parts.identities.accounts
        rules = Rules(needed, self.identity.login, own, usable.bot.allow_bots)
        now = self.parts.clock.now()
        since = self.delivery.trying_since or now
        verdict = await authorise(self._roles, self.event.repository, self.event.sender, rules, since=since, now=now)
        if isinstance(verdict, Later):
            raise Postponed(verdict.not_before, verdict.reason, trying=True)
        return verdict

    def acceptance(self) -> Acceptance:
        """What the requests of this delivery have in common, as far as it is known now."""
        now, ceilings = self.parts.clock.now(), self.parts.ceilings
        can_ask = self.parts.can_ask
        return Acceptance(self.delivery, self.event, self.identity, self._configured, now, ceilings, can_ask=can_ask)


#: Hears what an event means besides its mentions; None where it means nothing. Raises `Postponed` to be asked again
#: later, and `Transient` where GitHub does not answer.
Ear = Callable[[Occasion], Awaitable[Heard | None]]
