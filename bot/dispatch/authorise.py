"""Decides who may command: the sender's effective role in the repository, failing closed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from bot.errors import Forbidden, NotFound, Transient
from bot.model.patience import patience
from bot.model.role import Role, strictest
from bot.model.thread import Account, Repository

_FIRST_DELAY = timedelta(seconds=2)
_LONGEST_DELAY = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The sender may command. `role` is None for another bot, which is admitted by its id."""

    role: Role | None


@dataclass(frozen=True, slots=True)
class Denied:
    """The sender may not; `reason` is kept with the delivery, in words."""

    reason: str
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """Nobody knows yet: ask again at `not_before`. Nothing else waits for it meanwhile."""

    not_before: datetime
    reason: str


Verdict = Allowed | Denied | Later


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may command here.

    `own` are the numeric ids of this App's bot account as far as they are known and `own_login` its login
    (`<slug>[bot]`): it never commands, whatever `allow_bots` says.
    """

    trigger_role: Role
    own_login: str
    own: Collection[int] = ()
    allow_bots: Collection[int] = ()


class Roles(Protocol):
    """Where a role is asked for."""

    async def role(self, repository: Repository, account: Account) -> Role:
        """The account's effective role now.

        Raises `Transient` where GitHub gave no answer (5xx, time-out, rate limit, or it did not know our App),
        `NotFound` or `Forbidden` where it gives none for good.
        """
        ...


async def authorise(
    roles: Roles, repository: Repository, sender: Account, rules: Rules, *, since: datetime, now: datetime
) -> Verdict:
    """Whether `sender`, who caused the event, may command in `repository`.

    `since` is when it was first asked in vain: once patience with GitHub ends, a role that cannot be read is a no. Only
    the sender counts, never the author of the text and never `author_association`.
    """
    known = without_role(sender, rules)
    if known:
        return known
    try:
        role = await roles.role(repository, sender)
    except (NotFound, Forbidden) as error:
        return Denied(f"GitHub shows no role for {sender.login}: {error}")
    except (Transient, TimeoutError) as error:
        return after_fault(error, since=since, now=now)
    return by_role(sender, role, rules.trigger_role)


def without_role(sender: Account, rules: Rules) -> Allowed | Denied | None:
    """What can be said about a sender without asking GitHub; None where its role decides."""
    if sender.id in rules.own or sender.login.casefold() == rules.own_login.casefold():
        return Denied("the bot does not command itself")
    if sender.is_deleted:
        return Denied("the account was deleted")
    if sender.is_bot:
        if sender.id in rules.allow_bots:
            return Allowed(None)
        return Denied(f"the bot {sender.login} ({sender.id}) is not in `allow_bots`")
    if sender.type != "User":
        return Denied(f"{sender.login} is no person but of the type {sender.type}")
    return None


def by_role(sender: Account, role: Role, needed: Role) -> Allowed | Denied:
    """What a person's role says."""
    # a public repository gives everybody `read`; `none` would let in whoever has no access at all
    least = strictest(needed, Role.READ)
    if role.at_least(least):
        return Allowed(role)
    return Denied(f"{sender.login} has the role {role}, {least} is needed", role)


def after_fault(error: Transient | TimeoutError, *, since: datetime, now: datetime) -> Denied | Later:
    """When to ask again after GitHub gave no answer.

    The delays grow with the time that has passed, from 2 seconds to 2 minutes, and never undercut what GitHub asked
    for. The last try is at the deadline; one that GitHub forbids until after it will not come, so that is a no at once.
    """
    allowed = patience(error)
    deadline = since + allowed
    told = error.retry_after if isinstance(error, Transient) else None
    asked = now + timedelta(seconds=min(max(told, 0), 86_400)) if told is not None else now
    if now >= deadline or asked > deadline:
        return Denied(f"the role could not be read within {allowed.seconds // 60} minutes: {error}")
    delay = min(max(now - since, _FIRST_DELAY), _LONGEST_DELAY)
    return Later(min(max(now + delay, asked), deadline), str(error))
