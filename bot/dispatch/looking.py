"""Steps 4 and 5: what an event asks for, and whether its sender may."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from bot.dispatch import answering, halts, mentions, retries, steering
from bot.dispatch.acceptance import REQUESTS_MAX, Asked
from bot.dispatch.authorise import Allowed, Denied
from bot.dispatch.builtins import BUILTINS
from bot.dispatch.commands import Command, names_of, parse, sort
from bot.dispatch.configuration import Configured
from bot.dispatch.occasion import Occasion
from bot.dispatch.parts import Parts
from bot.model.event import Event
from bot.model.role import Role, strictest
from bot.store import Session
from bot.workflows import Configuration

#: characters from which mentions are looked for in a thread, so that the event loop goes on
THREAD_FROM = 2048
#: the least role of each built-in, where it names one
_ROLES = {each.name: each.role for each in BUILTINS}
#: those whose least role depends on the runs that they are about
_BY_RUN: Mapping[str, Callable[[Session, Configuration, Event, Command], Role]] = {
    "cancel": halts.needed,
    "retry": retries.needed,
    "steer": steering.needed,
}
#: the built-ins that start runs
_STARTING = frozenset({"retry", "try"})


@dataclass(slots=True)
class Looked:
    """What was found in one event. `reason` is why something in it is not done, though it is asked."""

    asked: list[Asked] = field(default_factory=list)
    refused: list[Asked] = field(default_factory=list)
    reason: str = ""
    #: requests beyond those that are taken
    surplus: int = 0
    #: whether the bot is spoken to at all, by whomever
    mentioned: bool = False

    def covered_by_review(self) -> None:
        """What a remark asks for is part of what its review asks for; built-ins act all the same."""
        self.asked = [one for one in self.asked if not one.for_workflow]
        self.reason = "part of what its review asks for"

    @property
    def starts(self) -> bool:
        """Whether anything is asked that starts a run."""
        return any(one.for_workflow or one.command.name in _STARTING for one in self.asked)

    def spoken_to(self, event: Event) -> bool:
        """Whether a comment is no word to those who wait for one: it is a command, or a program wrote it."""
        return self.mentioned or event.sender.is_bot


class Looking:
    """Finds the requests of events."""

    def __init__(self, parts: Parts) -> None:
        self._p = parts

    async def look(self, occasion: Occasion) -> Looked:
        """What is asked, by whoever may ask it; nothing by what stands in a comment of ours, whoever wrote it there.

        Raises `Postponed` where nobody can tell yet.
        """
        event, identity = occasion.event, occasion.identity
        if "@" not in event.text or (event.comment is not None and self._p.identities.mine(event.comment)):
            return Looked()
        configured, usable = await occasion.configured(), await occasion.usable()
        handles = usable.bot.mention or (identity.handle,)
        names, signed = names_of(usable)
        read = partial(parse, names=names, default=usable.bot.default, table=BUILTINS, signed=signed)
        if event.old_text is not None:
            search = partial(
                mentions.added, event.old_text, event.text, handles, lambda text: sort(read(text, asked=True))
            )
        else:
            search = partial(mentions.find, event.text, handles)
        # nobody is authorised yet, and Markdown can be made slow to read
        long = len(event.text) + len(event.old_text or "") > THREAD_FROM
        found = await asyncio.to_thread(search) if long else search()
        meant = [read(mention.text, asked=True) for mention in found[:REQUESTS_MAX]]
        # where nobody was asked of late, words behind `approve` are no answer but a request
        if any(map(answering.is_answer, meant)) and not await answering.asked_lately(occasion):
            meant = [read(mention.text) for mention in found[:REQUESTS_MAX]]
        looked = Looked()
        looked.mentioned = bool(found)
        looked.surplus = max(0, len(found) - REQUESTS_MAX)
        for ordinal, command in enumerate(meant):
            if configured.configuration is None:  # what was meant cannot be told while the names are not known
                command = replace(command, suggestion=None)
            verdict = await occasion.authorised(await self._needed(event, configured, command))
            if isinstance(verdict, Denied) and answering.is_answer(command):
                verdict = await answering.admitted(occasion, verdict)
            match verdict:
                case Allowed(role=role):
                    looked.asked.append(Asked(ordinal, command, role))
                case Denied(reason=reason):
                    looked.reason = reason
                    if usable.bot.publish.refusals == "react" and not event.sender.is_bot:
                        looked.refused.append(Asked(ordinal, command, None))
        return looked

    async def _needed(self, event: Event, configured: Configured, command: Command) -> Role:
        """The least role for a command; where the configuration is broken, `write`."""
        usable = configured.configuration
        if usable is None:
            return Role.WRITE
        if command.kind != "builtin":
            return usable.role_for(command.name)
        if (by_run := _BY_RUN.get(command.name)) is not None:
            return await self._p.store.read(lambda session: by_run(session, usable, event, command))
        least, own = usable.bot.trigger_role, _ROLES[command.name]
        return least if own is None else strictest(least, own)
