"""The loop over the inbox: every kept delivery is looked at once, threads side by side, each thread in order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from bot import log, publish
from bot.dispatch import events
from bot.dispatch.actions import Actions
from bot.dispatch.hearing import Hearing
from bot.dispatch.occasion import Postponed
from bot.dispatch.owed import BROKEN, LIMITED, REFUSED, SET_ASIDE, UNANSWERED, Owed
from bot.dispatch.parts import Parts
from bot.errors import BotError, Forbidden, Lost, NotFound, Transient
from bot.model.event import Event
from bot.model.ident import new_id
from bot.model.patience import again_at, patience
from bot.model.state import DeliveryState
from bot.store import Session, deliveries, suspects
from bot.store.tables import Delivery

_log = log.get("dispatch")

T = TypeVar("T")

#: threads whose deliveries are looked at side by side
SIDE_BY_SIDE = 16
#: deliveries taken up at once
BATCH = 64
#: seconds between looks when nothing rings
LOOK_EVERY = 5.0
#: seconds before another look where the database refuses
PAUSE = 1.0
#: why a delivery is set aside
_ENDED = "set aside: three processes ended while they looked at it"


class Intake:
    """Looks at every kept delivery once, threads side by side, within a thread by payload time.

    One process at a time does: what a delivery leads to is written through the store of `parts`, which refuses others.
    A delivery over which three processes ended is set aside; see `bot.store.suspects`.
    """

    def __init__(self, parts: Parts, actions: Actions) -> None:
        self._p = parts
        self._hearing = Hearing(parts, actions)
        self._owed = Owed(parts)
        self._places = asyncio.Semaphore(SIDE_BY_SIDE)
        #: of each thread that is being looked at, the deliveries under way and those seen behind them
        self._busy: dict[str, set[str]] = {}
        #: under what this start notes what it looks at, and up to which delivery it does
        self._name, self._noted_to = new_id(), ""

    async def run(self) -> None:
        """Look at deliveries until cancelled."""
        try:
            await self._begin()
            await self._go_on()
        finally:
            with suppress(BotError):
                await self._p.store.write(lambda session: suspects.unmark(session, self._name))

    async def _begin(self) -> None:
        """What the process before left may have ended it: it is looked at first, and one at a time."""
        left = await self._patiently(lambda: self._p.store.write(lambda session: suspects.left(session, _ENDED)))
        self._noted_to = left.newest
        now = self._p.clock.now()
        found = await self._patiently(
            lambda: self._p.store.read(lambda session: suspects.due(session, left.suspects, now))
        )
        for delivery in [*left.aside, *sorted(found, key=lambda one: (_place(one)[1], one.id))]:
            await self._patiently(partial(self._note, [delivery]))
            await self._thread(_place(delivery)[0], [delivery])

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await call()
            except Transient:  # the store says so
                await self._p.clock.sleep(PAUSE)

    async def _note(self, looked_at: Sequence[Delivery]) -> None:
        """Before they are looked at; what came in later has ended nothing yet."""
        ids = [delivery.id for delivery in looked_at if delivery.id <= self._noted_to]
        if ids:
            await self._p.store.write(lambda session: suspects.mark(session, ids, self._name))

    async def _go_on(self) -> None:
        bell = self._p.store.bell("delivery")
        async with asyncio.TaskGroup() as group:
            while True:
                seen = bell.count
                try:
                    wait = await self._spread(group)
                except Transient:  # the store says so
                    await self._p.clock.sleep(PAUSE)
                    continue
                # another process (`threadsmith replay`) changes rows without ringing
                if wait > 0:
                    await bell.wait(seen, min(LOOK_EVERY, wait))

    async def _spread(self, group: asyncio.TaskGroup) -> float:
        """Start a task for each thread that has something new and is not being looked at; seconds until the next look,
        unless something rings.
        """
        groups, wait = await self._fresh()
        await self._note([delivery for found in groups.values() for _, delivery in found])
        for key, found in groups.items():
            ordered = [delivery for _, delivery in sorted(found, key=lambda pair: (pair[0], pair[1].id))]
            self._busy[key] = {delivery.id for delivery in ordered}
            group.create_task(self._thread(key, ordered))
        return wait

    async def _fresh(self) -> tuple[dict[str, list[tuple[datetime, Delivery]]], float]:
        """The next due deliveries of threads that nobody looks at; however many wait for one that somebody does.

        And the seconds until one is due that is not now, 0 where there may be more that are: who is done with a thread
        rings for what waits in it.
        """
        now = self._p.clock.now()
        groups: dict[str, list[tuple[datetime, Delivery]]] = {}
        while True:
            seen = {delivery_id for ids in self._busy.values() for delivery_id in ids}
            batch, due = await self._p.store.read(partial(_open, now=now, busy=seen))
            for delivery in batch:
                key, at = _place(delivery)
                if key in self._busy:
                    self._busy[key].add(delivery.id)
                else:
                    groups.setdefault(key, []).append((at, delivery))
            if len(batch) < BATCH:
                wait = LOOK_EVERY if due is None else max(0.05, (due - self._p.clock.now()).total_seconds())
                return groups, wait
            if groups:
                return groups, 0.0

    async def _thread(self, key: str, ordered: Sequence[Delivery]) -> None:
        settled = False
        try:
            async with self._places:
                settled = all([await self._one(delivery) for delivery in ordered])
        except Lost:  # another process has the duty: what is left here is looked at there
            raise
        except Exception as error:  # noqa: BLE001  # what became of it could not be kept: it is new, and looked at again
            _log.error("delivery_not_settled", thread=key, exc_info=error)
            await self._p.clock.sleep(PAUSE)
        finally:
            behind = self._busy.pop(key, set()).difference(delivery.id for delivery in ordered)
            if behind or not settled:
                self._p.store.bell("delivery").ring()

    async def _one(self, delivery: Delivery) -> bool:
        """Look at it; whether it is surely settled, so that nobody has to look at it again."""
        if delivery.interruptions >= suspects.INTERRUPTIONS:
            _log.error("delivery_set_aside", guid=delivery.guid, reason=_ENDED)
            await self._told(delivery, SET_ASIDE, _ENDED, waits=True)
            return False
        try:
            return await self._hearing.hear(delivery)
        except Lost:
            raise
        except Transient as error:
            await self._again(delivery, error)
        except Exception as error:  # noqa: BLE001  # one broken delivery must not stop the others
            if not isinstance(error, BotError):
                _log.exception("delivery_crashed", delivery=delivery.guid)
            words = REFUSED if isinstance(error, NotFound | Forbidden) else BROKEN
            await self._failed(delivery, f"{type(error).__name__}: {error}", words)
        return False

    async def _again(self, delivery: Delivery, error: Transient) -> None:
        now = self._p.clock.now()
        since = delivery.trying_since or now
        until = again_at(since, now, error)
        if until is None:
            long = f"{patience(error).seconds // 60} minutes"
            why = f"GitHub's limit held it up for {long}" if error.limited else f"GitHub did not answer for {long}"
            await self._failed(delivery, f"{why}: {error}", LIMITED if error.limited else UNANSWERED)
            return
        await self._p.store.write(
            lambda session: deliveries.postpone(session, delivery.id, until, since, str(error)[:500])
        )

    async def _failed(self, delivery: Delivery, reason: str, words: str) -> None:
        """Nothing came of it; whoever asked for something, and may, is told so."""
        _log.error("delivery", guid=delivery.guid, state=str(DeliveryState.FAILED), reason=reason)
        await self._told(delivery, words, reason[:500])

    async def _told(self, delivery: Delivery, words: str, reason: str | None = None, *, waits: bool = False) -> None:
        """Say so, and settle it with `reason` where that has not been done.

        With `waits` later, where GitHub does not tell now whom it may be said to.
        """
        owed, subject = None, _subject(delivery)
        try:
            owed = await self._owed.of(delivery, waits=waits)
        except Postponed as later:
            since, until, why = delivery.trying_since or self._p.clock.now(), later.until, later.reason
            if waits:  # this ends by itself: once patience with GitHub ends, it is a no
                await self._p.store.write(
                    lambda session: deliveries.postpone(session, delivery.id, until, since, why[:500])
                )
                return

        def work(session: Session) -> None:
            if reason is not None:
                deliveries.settle(session, delivery.id, DeliveryState.FAILED, reason)
            if subject is not None:  # should that be deleted, its text is found here
                deliveries.about(session, delivery.id, *subject)
            if owed is not None:
                self._owed.tell(session, owed, words)

        await publish.write(self._p.store, work)


def _open(session: Session, now: datetime, busy: Collection[str]) -> tuple[list[Delivery], datetime | None]:
    """The oldest that are due, `busy` ones left out, and when the next is that is not yet."""
    return deliveries.open_batch(session, now, BATCH, busy=busy), deliveries.next_due(session, now)


def _place(delivery: Delivery) -> tuple[str, datetime]:
    """The thread a delivery is about and its payload time, as far as the body tells; events go in that order."""
    payload: Any = None
    with suppress(ValueError):
        payload = json.loads(delivery.body)
    if not isinstance(payload, dict):
        payload = {}
    issue = payload.get("issue") or payload.get("pull_request")
    number = issue.get("number") if isinstance(issue, dict) else None
    subject = payload.get("comment") or payload.get("review") or issue
    at = delivery.received_at
    if isinstance(subject, dict):
        with suppress(ValueError, TypeError, KeyError):
            at = datetime.fromisoformat(str(_changed_at(subject, issue, payload.get("action"))))
    if at.tzinfo is None:
        at = delivery.received_at
    return f"{delivery.repository_id}#{number}", at


def _subject(delivery: Delivery) -> tuple[int | None, int] | None:
    """The comment, if any, and the thread whose text a delivery holds; None for other deliveries."""
    with suppress(ValueError, UnicodeError):
        payload = json.loads(delivery.body)
        event = events.normalise(delivery.event, payload) if isinstance(payload, dict) else None
        if isinstance(event, Event):
            return event.comment.id if event.comment else None, event.issue.number
    return None


def _changed_at(subject: Mapping[str, Any], issue: Any, action: object) -> object:
    """When it happened to the subject. A review has no time but that of its submission."""
    if "submitted_at" not in subject:
        return subject["updated_at"]
    if action != "submitted" and isinstance(issue, dict):
        return subject.get("updated_at") or issue["updated_at"]
    return subject["submitted_at"]
