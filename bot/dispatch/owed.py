"""What somebody is owed whose request came to nothing because its delivery failed: one fixed sentence."""

from __future__ import annotations

import json

from bot import log
from bot.dispatch import events, review_loop, schedules, triggers
from bot.dispatch.configuration import Configured
from bot.dispatch.looking import Looking
from bot.dispatch.memory import is_purged, thread_of
from bot.dispatch.occasion import Occasion, Postponed
from bot.dispatch.parts import Parts
from bot.errors import BotError, Transient
from bot.model.event import Event
from bot.model.patience import again_at
from bot.model.slot import Slot
from bot.publish import note_body
from bot.store import Session, threads
from bot.store.tables import Delivery

_log = log.get("dispatch")

UNANSWERED = "Nothing was done about this: GitHub did not answer for 15 minutes. Ask again once it does."
LIMITED = "Nothing was done about this: GitHub let the bot ask no more for two hours. Ask again later."
REFUSED = "Nothing was done about this: GitHub refused something that it needs. The operator finds what in the log."
BROKEN = "Nothing was done about this: the bot itself failed. Its operator finds why in its log."
SET_ASIDE = (
    "Nothing was done about this: the bot's process ended three times while it looked at it, so it is left alone. "
    "Its operator finds it in the log."
)


class Owed:
    """Tells whoever asked, where it is known that they may. Of anybody else nothing is said."""

    def __init__(self, parts: Parts) -> None:
        self._p = parts
        self._looking = Looking(parts)

    async def of(self, delivery: Delivery, *, waits: bool = False) -> Occasion | None:
        """The event of a failed delivery in which somebody asks who may; None where nobody is owed a word.

        Raises `Postponed` where GitHub does not tell now who may; with `waits` also where it does not tell who we are
        or what the repository configures, until patience with it ends.
        """
        try:
            try:
                occasion = await self._occasion(delivery)
            except Transient as error:
                if waits:
                    self._hold(delivery, error)
                raise
            if occasion is None:
                return None
            try:
                wanted = await self._wanted(occasion)
            except Postponed:
                raise
            except BotError as error:
                if waits and isinstance(error, Transient):
                    self._hold(delivery, error)
                # what does not answer may be the configuration: the least that every repository asks for holds then
                occasion = self._plain(occasion)
                wanted = await self._wanted(occasion)
        except Postponed:
            raise
        except Exception as error:  # noqa: BLE001  # whatever broke the delivery may break this look at it
            _log.info("nobody_told", guid=delivery.guid, reason=str(error))
            return None
        return occasion if wanted else None

    def tell(self, session: Session, occasion: Occasion, words: str) -> None:
        """Say so, where the request was made and still stands."""
        event, acceptance = occasion.event, occasion.acceptance()
        if is_purged(session, event, thread_of(session, event)):
            return
        thread = threads.ensure(session, event.repository, event.issue, event.installation_id)
        slot = Slot(f"dispatch/{occasion.delivery.id}", "failed")
        body = note_body(words)
        self._p.speaker.comment(session, thread, slot, purpose="error", body=body, target_id=acceptance.reply_to)

    async def _occasion(self, delivery: Delivery) -> Occasion | None:
        if delivery.event == schedules.EVENT:
            return None
        event = events.normalise(delivery.event, json.loads(delivery.body))
        if not isinstance(event, Event) or not event.installation_id:
            return None
        identity = await self._p.identities.get()
        if not identity.serves(event.repository.owner) or identity.is_me(event.sender):
            return None
        client = self._p.github.repository(event.installation_id, event.repository)
        return Occasion(self._p, delivery, event, identity, client)

    def _hold(self, delivery: Delivery, error: Transient) -> None:
        now = self._p.clock.now()
        until = again_at(delivery.trying_since or now, now, error)
        if until is not None:
            raise Postponed(until, str(error), trying=True)

    def _plain(self, occasion: Occasion) -> Occasion:
        checked = self._p.memo.defaults()
        configured = Configured("", {}, checked.configuration, checked.findings)
        parts, delivery, event = occasion.parts, occasion.delivery, occasion.event
        return Occasion(parts, delivery, event, occasion.identity, occasion.client, configured=configured)

    async def _wanted(self, occasion: Occasion) -> bool:
        if (await self._looking.look(occasion)).asked:
            return True
        return await review_loop.owed(occasion) or await triggers.owed(occasion)
