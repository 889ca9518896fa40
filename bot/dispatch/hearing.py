"""One delivery from its payload to rows: the six steps of *Who may command* (docs: life-of-a-dispatch)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from bot import log, publish
from bot.dispatch import (
    events,
    lifecycle,
    review_loop,
    scanned,
    schedules,
    waits,
)
from bot.dispatch.acceptance import react, tell_surplus
from bot.dispatch.actions import Actions
from bot.dispatch.configuration_check import hear_configuration
from bot.dispatch.ears import EARS, listen
from bot.dispatch.elsewhere import Elsewhere
from bot.dispatch.identity import Identity
from bot.dispatch.looking import Looked, Looking
from bot.dispatch.memory import confirm_own, is_purged, observe, thread_of
from bot.dispatch.occasion import Ear, Heard, Occasion, Postponed
from bot.dispatch.parts import Parts
from bot.dispatch.review_request import read_review
from bot.dispatch.schedules import Due
from bot.dispatch.starting import LOCKED, accept
from bot.errors import Forbidden, NotFound
from bot.model.event import Event, Notice, Signal
from bot.model.state import DeliveryState
from bot.store import Session, deliveries, threads
from bot.store.tables import Delivery

_log = log.get("dispatch")

#: why nothing is made of what was deleted before it was looked at
PURGED = "what it tells of was deleted meanwhile"


class Hearing:
    """Looks at one delivery and settles it. Raises `Transient` where it has to be looked at again."""

    def __init__(self, parts: Parts, actions: Actions, ears: Sequence[Ear] = EARS) -> None:
        self._p = parts
        self._actions = actions
        self._ears = tuple(ears)
        self._elsewhere = Elsewhere(parts)
        self._looking = Looking(parts)

    async def hear(self, delivery: Delivery) -> bool:
        """Settle it, with all that follows from it; False where it is put off and has to be looked at again."""
        if not delivery.body:
            return await self._ignore(delivery, PURGED)
        payload = json.loads(delivery.body)
        # nothing that comes in from outside is kept under this name
        due = schedules.due_of(payload) if delivery.event == schedules.EVENT else None
        event = due if due is not None else events.normalise(delivery.event, payload)
        if isinstance(event, events.Ignored):
            return await self._ignore(delivery, event.reason)
        identity = await self._p.identities.get()
        if isinstance(event, Notice) and event.name != "push":
            return await self._ends(delivery, event, identity)
        repository = event.repositories[0] if isinstance(event, Notice) else event.repository
        if not identity.serves(repository.owner):
            reason = f"the owner {repository.owner.login} is not in BOT_ALLOWED_OWNERS"
            return await self._ignore(delivery, reason)
        if not event.installation_id:
            return await self._ignore(delivery, "the delivery names no installation")
        client = self._p.github.repository(event.installation_id, repository)
        if isinstance(event, Signal | Notice | Due):
            try:
                await self._elsewhere.hear(delivery, event, identity, client)
            except Postponed as postponed:
                return await self._later(delivery, postponed)
            return True
        occasion = Occasion(self._p, delivery, event, identity, client)
        if self._p.identities.wrote(event.sender, event.comment) or identity.is_me(event.sender):
            return await self._own(occasion)
        return await self._foreign(occasion)

    async def _ends(self, delivery: Delivery, notice: Notice, identity: Identity) -> bool:
        """What goes takes along what is under way in it, whoever owns it: only rows that are there are touched."""

        def work(session: Session) -> str:
            reason = lifecycle.follow(session, notice, identity, self._p.clock.now())
            deliveries.settle(session, delivery.id, DeliveryState.IGNORED, reason)
            return reason

        reason = await publish.write(self._p.store, work)
        _log.info("delivery", guid=delivery.guid, delivery=delivery.id, reason=reason)
        return True

    async def _own(self, occasion: Occasion) -> bool:
        """Step 1: our own doing confirms its slot, and starts nothing; our pull requests are checked as others are."""
        delivery, event, client = occasion.delivery, occasion.event, occasion.client
        heard = await listen((hear_configuration,), occasion)

        def work(session: Session, gone: int | None = None) -> int | None:
            other = confirm_own(session, event, self._p.marker, self._p.clock.now(), gone=gone)
            if other is None or gone is not None:
                for one in heard:
                    one.act(session, threads.ensure(session, event.repository, event.issue, event.installation_id))
                reason = "; ".join(["our own", *(one.reason for one in heard)])
                deliveries.settle(session, delivery.id, DeliveryState.IGNORED, reason[:500])
                _keep_or_purge(session, delivery, event)
            return other

        other = await publish.write(self._p.store, work)
        if other is not None and event.comment is not None:
            younger = max(other, event.comment.id)
            _log.warning("said_twice", comment=younger)
            if event.comment.kind != "review":  # one that was submitted cannot be deleted
                with suppress(NotFound, Forbidden):
                    await client.delete_comment(younger, kind=event.comment.kind)

            def taken_back(session: Session) -> None:
                # it left beside the outbox: what comes next pays for it
                publish.Pace().spent(session, event.installation_id, 1, self._p.clock.now())
                work(session, younger)

            await self._p.store.write(taken_back)
        return True

    async def _foreign(self, occasion: Occasion) -> bool:
        delivery, event, client = occasion.delivery, occasion.event, occasion.client
        gone, before = await self._p.store.read(
            lambda session: (
                is_purged(session, event, thread_of(session, event)),
                scanned.text_before(session, delivery, event),
            )
        )
        if gone:
            return await self._purged(delivery, event)
        if before != event.old_text:
            occasion.event = event = replace(event, old_text=before)
        ours = event.comment is not None and self._p.identities.mine(event.comment)
        try:
            looked = await self._looking.look(occasion)
            if any(one.for_workflow for one in looked.asked) and await review_loop.covers(occasion):
                looked.covered_by_review()
            occasion.asked = tuple(looked.asked)
            heard = await listen(self._ears, occasion)
        except Postponed as postponed:
            return await self._later(delivery, postponed, event)
        acceptance = occasion.acceptance()
        if event.subject == "review" and event.comment is not None and any(one.for_workflow for one in looked.asked):
            acceptance = replace(acceptance, said=await read_review(client, event.issue.number, event.comment))
        acts = [await self._actions.prepare(asked, acceptance, client) for asked in looked.asked]

        def work(session: Session) -> None:
            parts, now = self._p, acceptance.now
            thread = observe(session, event, parts.marker, parts.speaker, acceptance.handle, now, ours=ours)
            over = f"the thread had ended ({thread.gone})" if thread.gone and looked.asked else ""
            for asked, act in zip(looked.asked, acts, strict=True):
                accept(session, thread, acceptance, asked, act, parts.speaker)
            names = []
            if (signal := events.signal_of(event)) and not (signal.event == "comment" and looked.spoken_to(event)):
                names = waits.answer(session, signal, delivery.received_at, now)
            for refused in looked.refused:
                react(session, thread, acceptance, refused, "confused", parts.speaker)
            if looked.asked and looked.surplus:
                tell_surplus(session, thread, acceptance, looked.surplus, parts.speaker)
            for one in heard:
                one.act(session, thread)
            _settled(session, delivery, looked, names, heard, locked=event.issue.locked, over=over)
            _keep_or_purge(session, delivery, event)

        await publish.write(self._p.store, work)
        asked = [one.command.name for one in looked.asked]
        _log.info(
            "delivery", guid=delivery.guid, delivery=delivery.id, asked=asked, reason="; ".join(_reasons(looked, heard))
        )
        return True

    async def _purged(self, delivery: Delivery, event: Event) -> bool:
        """What was deleted meanwhile asks for nothing, and its text is kept nowhere."""

        def work(session: Session) -> None:
            deliveries.settle(session, delivery.id, DeliveryState.IGNORED, PURGED)
            _about(session, delivery, event)
            deliveries.empty(session, delivery.id)

        await self._p.store.write(work)
        _log.info("delivery", guid=delivery.guid, delivery=delivery.id, reason=PURGED)
        return True

    async def _later(self, delivery: Delivery, postponed: Postponed, event: Event | None = None) -> bool:
        """Look again then."""
        now = self._p.clock.now()
        since = (delivery.trying_since or now) if postponed.trying else delivery.trying_since

        def work(session: Session) -> None:
            deliveries.postpone(session, delivery.id, postponed.until, since, postponed.reason)
            if event is not None:  # should that be deleted meanwhile, it is found
                _about(session, delivery, event)

        await self._p.store.write(work)
        return False

    async def _ignore(self, delivery: Delivery, reason: str) -> bool:
        _log.info("delivery", guid=delivery.guid, delivery=delivery.id, state=str(DeliveryState.IGNORED), reason=reason)
        await self._p.store.write(
            lambda session: deliveries.settle(session, delivery.id, DeliveryState.IGNORED, reason[:500])
        )
        return True


def _settled(
    session: Session,
    delivery: Delivery,
    looked: Looked,
    names: Sequence[str],
    heard: Sequence[Heard],
    *,
    locked: bool,
    over: str,
) -> None:
    """What became of the delivery, and why."""
    reasons = [*([f"answered {', '.join(names)}"] if names else []), *_reasons(looked, heard)]
    if locked and looked.starts:
        reasons.append(LOCKED)
    if over:
        reasons.append(over)
    if looked.asked or names or any(not one.silent for one in heard):
        deliveries.settle(session, delivery.id, DeliveryState.PLANNED, "; ".join(reasons)[:500])
    else:
        reason = "; ".join(reasons) or "no mention"
        deliveries.settle(session, delivery.id, DeliveryState.IGNORED, reason[:500])


def _reasons(looked: Looked, heard: Sequence[Heard]) -> list[str]:
    """Why something is done, and why something else is not."""
    return list(filter(None, [looked.reason, *(one.reason for one in heard)]))


def _about(session: Session, delivery: Delivery, event: Event) -> None:
    deliveries.about(session, delivery.id, event.comment.id if event.comment else None, event.issue.number)


def _keep_or_purge(session: Session, delivery: Delivery, event: Event) -> None:
    """Note what a delivery is about; once that is deleted, its text is nowhere among the deliveries."""
    _about(session, delivery, event)
    comment, repository = event.comment, event.repository
    thread = thread_of(session, event)
    if thread is not None and thread.gone == "deleted":
        deliveries.purge_thread(session, repository.id, thread.number)
    if comment is not None and event.action == "deleted":
        review = comment.place.review_id if comment.place is not None else None
        deliveries.purge(session, repository.id, comment.id, comment.kind, review)
    elif is_purged(session, event, thread):
        deliveries.empty(session, delivery.id)
