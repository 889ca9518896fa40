"""From deliveries to dispatches: the six steps of *Who may command* (docs: life-of-a-dispatch)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from bot import log, publish
from bot.dispatch import configuration, events, mentions, waits
from bot.dispatch.acceptance import REQUESTS_MAX, Acceptance, Asked, accept, react, tell_surplus
from bot.dispatch.actions import Actions
from bot.dispatch.authorise import Allowed, Denied, Later, Rules, authorise
from bot.dispatch.bases import Bases
from bot.dispatch.builtins import BUILTINS
from bot.dispatch.commands import Command, parse
from bot.dispatch.configuration import Configured
from bot.dispatch.identity import Identities, Identity
from bot.dispatch.memory import confirm_own, observe
from bot.dispatch.roles import AskedRoles
from bot.errors import BotError, Forbidden, NotFound, Transient
from bot.github import GitHub, RepositoryClient
from bot.model.clock import Clock
from bot.model.event import Event, Signal
from bot.model.role import Role
from bot.model.state import DeliveryState
from bot.publish import Marker, Speaker
from bot.store import Session, Store, deliveries
from bot.store.tables import Delivery
from bot.workflows import Configuration, Memo

_log = log.get("dispatch")

#: threads whose deliveries are looked at side by side
SIDE_BY_SIDE = 8
#: characters from which mentions are looked for in a thread, so that the event loop goes on
THREAD_FROM = 2048
#: seconds between looks when nothing rings
LOOK_EVERY = 5.0
#: seconds before another look where the database refuses
PAUSE = 1.0
#: how long a fault of GitHub is waited out before the delivery has failed
PATIENCE = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Parts:
    """What intake works with."""

    store: Store
    github: GitHub
    identities: Identities
    memo: Memo
    marker: Marker
    speaker: Speaker
    clock: Clock


class Intake:
    """Looks at every kept delivery once, threads side by side, within a thread by payload time."""

    def __init__(self, parts: Parts, actions: Actions) -> None:
        self._p = parts
        self._actions = actions
        self._places = asyncio.Semaphore(SIDE_BY_SIDE)
        #: of each thread that is being looked at, the deliveries under way and those seen behind them
        self._busy: dict[str, set[str]] = {}

    async def run(self) -> None:
        """Look at deliveries until cancelled."""
        bell = self._p.store.bell("delivery")
        async with asyncio.TaskGroup() as group:
            while True:
                seen = bell.count
                try:
                    fresh = await self._spread(group)
                    wait = 0.0 if fresh else min(LOOK_EVERY, await self._until_due())
                except Transient as error:
                    _log.error("store_refuses", reason=str(error))
                    await self._p.clock.sleep(PAUSE)
                    continue
                if not fresh:
                    # another process (`threadsmith replay`) changes rows without ringing
                    await bell.wait(seen, wait)

    async def _spread(self, group: asyncio.TaskGroup) -> bool:
        """Start a task for each thread that has something new and is not being looked at; whether there was any."""
        groups = await self._fresh()
        for key, found in groups.items():
            ordered = [delivery for _, delivery in sorted(found, key=lambda pair: (pair[0], pair[1].id))]
            self._busy[key] = {delivery.id for delivery in ordered}
            group.create_task(self._thread(key, ordered))
        return bool(groups)

    async def _fresh(self) -> dict[str, list[tuple[datetime, Delivery]]]:
        """The next due deliveries of threads that nobody looks at; however many wait for one that somebody does."""
        now = self._p.clock.now()
        groups: dict[str, list[tuple[datetime, Delivery]]] = {}
        while not groups:
            seen = {delivery_id for ids in self._busy.values() for delivery_id in ids}
            batch = await self._p.store.read(partial(deliveries.open_batch, now=now, busy=seen))
            if not batch:
                break
            for delivery in batch:
                key, at = _place(delivery)
                if key in self._busy:
                    self._busy[key].add(delivery.id)
                else:
                    groups.setdefault(key, []).append((at, delivery))
        return groups

    async def _thread(self, key: str, ordered: Sequence[Delivery]) -> None:
        try:
            async with self._places:
                for delivery in ordered:
                    await self._one(delivery)
        except Exception as error:  # noqa: BLE001  # what became of it could not be kept: it is new, and looked at again
            _log.error("delivery_not_settled", thread=key, exc_info=error)
            await self._p.clock.sleep(PAUSE)
        finally:
            del self._busy[key]
            self._p.store.bell("delivery").ring()

    async def _until_due(self) -> float:
        due = await self._p.store.read(deliveries.next_due)
        if due is None:
            return LOOK_EVERY
        return max(0.05, (due - self._p.clock.now()).total_seconds())

    async def _one(self, delivery: Delivery) -> None:
        try:
            await self._plan(delivery)
        except Transient as error:
            await self._again(delivery, error)
        except Exception as error:  # noqa: BLE001  # one broken delivery must not stop the others
            if not isinstance(error, BotError):
                _log.exception("delivery_crashed", delivery=delivery.guid)
            await self._settle(delivery, DeliveryState.FAILED, f"{type(error).__name__}: {error}")

    async def _again(self, delivery: Delivery, error: Transient) -> None:
        now = self._p.clock.now()
        since = delivery.trying_since or now
        if now - since >= PATIENCE:
            await self._settle(delivery, DeliveryState.FAILED, f"GitHub did not answer for 15 minutes: {error}")
            return
        wait = timedelta(seconds=max(2.0, error.retry_after or 0.0, (now - since).total_seconds()))
        until = min(now + wait, max(since + PATIENCE, now + timedelta(seconds=2)))
        await self._p.store.write(
            lambda session: deliveries.postpone(session, delivery.id, until, since, str(error)[:500])
        )

    async def _settle(self, delivery: Delivery, state: DeliveryState, reason: str) -> None:
        tell = _log.error if state is DeliveryState.FAILED else _log.info
        tell("delivery", guid=delivery.guid, state=str(state), reason=reason)
        await self._p.store.write(lambda session: deliveries.settle(session, delivery.id, state, reason[:500]))

    async def _plan(self, delivery: Delivery) -> None:
        event = events.normalise(delivery.event, json.loads(delivery.body))
        if isinstance(event, events.Ignored):
            await self._settle(delivery, DeliveryState.IGNORED, event.reason)
            return
        identity = await self._p.identities.get()
        if not identity.serves(event.repository.owner):
            reason = f"the owner {event.repository.owner.login} is not in BOT_ALLOWED_OWNERS"
            await self._settle(delivery, DeliveryState.IGNORED, reason)
            return
        if not event.installation_id:
            await self._settle(delivery, DeliveryState.IGNORED, "the delivery names no installation")
            return
        client = self._p.github.repository(event.installation_id, event.repository)
        if isinstance(event, Signal):
            reason = await waits.hear(self._p.store, client, identity, delivery, event, self._p.clock)
            _log.info("delivery", guid=delivery.guid, reason=reason)
        elif identity.is_me(event.sender):
            await self._own(delivery, event, client)
        else:
            await self._foreign(delivery, event, identity, client)

    async def _own(self, delivery: Delivery, event: Event, client: RepositoryClient) -> None:
        """Step 1: our own doing confirms its slot, and nothing else."""

        def work(session: Session, gone: int | None = None) -> int | None:
            other = confirm_own(session, event, self._p.marker, self._p.clock.now(), gone=gone)
            if other is None or gone is not None:
                deliveries.settle(session, delivery.id, DeliveryState.IGNORED, "our own")
                _keep_or_purge(session, delivery, event)
            return other

        other = await self._p.store.write(work)
        if other is not None and event.comment is not None:
            younger = max(other, event.comment.id)
            _log.warning("said_twice", comment=younger)
            with suppress(NotFound, Forbidden):
                await client.delete_comment(younger)
            await self._p.store.write(lambda session: work(session, younger))

    async def _foreign(self, delivery: Delivery, event: Event, identity: Identity, client: RepositoryClient) -> None:
        looked = _Looked()
        configured: Configured | None = None
        if "@" in event.text:
            bases = Bases(self._p.github, identity.serves)
            configured = await configuration.current(client, event.repository, self._p.memo, bases)
            looked = await self._look(delivery, event, identity, client, configured)
        if (later := looked.later) is not None:
            since = delivery.trying_since or self._p.clock.now()
            await self._p.store.write(
                lambda session: deliveries.postpone(session, delivery.id, later.not_before, since, later.reason)
            )
            return
        acceptance = Acceptance(delivery, event, identity, configured, self._p.clock.now())
        acts = [await self._actions.prepare(asked, acceptance, client) for asked in looked.asked]

        ours = event.comment is not None and self._p.identities.mine(event.comment)

        def work(session: Session) -> None:
            parts, now = self._p, acceptance.now
            thread = observe(session, event, parts.marker, parts.speaker, acceptance.handle, now, ours=ours)
            for asked, act in zip(looked.asked, acts, strict=True):
                accept(session, thread, acceptance, asked, act, self._p.speaker)
            names = []
            if (signal := events.signal_of(event)) and not (signal.event == "comment" and looked.spoken_to(event)):
                names = waits.answer(session, signal, delivery.received_at, now)
            for refused in looked.refused:
                react(session, thread, acceptance, refused, "confused", self._p.speaker)
            if looked.asked and looked.surplus:
                tell_surplus(session, thread, acceptance, looked.surplus, parts.speaker)
            if looked.asked or names:
                reason = f"answered {', '.join(names)}" if names else ""
                deliveries.settle(session, delivery.id, DeliveryState.PLANNED, reason)
            else:
                deliveries.settle(session, delivery.id, DeliveryState.IGNORED, looked.reason[:500])
            _keep_or_purge(session, delivery, event)

        await publish.write(self._p.store, work)
        names = [asked.command.name for asked in looked.asked]
        _log.info("delivery", guid=delivery.guid, asked=names, reason="" if names else looked.reason)

    async def _look(
        self, delivery: Delivery, event: Event, identity: Identity, client: RepositoryClient, configured: Configured
    ) -> _Looked:
        """Steps 4 and 5: what is asked, and whether the sender may."""
        usable = configured.configuration or self._p.memo.defaults().configuration
        assert usable is not None, "the product's own configuration is valid"
        handles = usable.bot.mention or (identity.handle,)
        if event.old_text is not None:
            search = partial(mentions.added, event.old_text, event.text, handles)
        else:
            search = partial(mentions.find, event.text, handles)
        # nobody is authorised yet, and Markdown can be made slow to read
        long = len(event.text) + len(event.old_text or "") > THREAD_FROM
        found = await asyncio.to_thread(search) if long else search()
        names = {name: _declared(usable, name) for name in usable.names()}
        signed = {name for name in names if _signed(usable, name)}
        roles = AskedRoles(client)
        looked = _Looked()
        looked.mentioned = bool(found)
        looked.surplus = max(0, len(found) - REQUESTS_MAX)
        for ordinal, mention in enumerate(found[:REQUESTS_MAX]):
            command = parse(mention.text, names=names, default=usable.bot.default, table=BUILTINS, signed=signed)
            if configured.configuration is None:  # what was meant cannot be told while the names are not known
                command = replace(command, suggestion=None)
            rules = Rules(_needed(configured, command), identity.login, allow_bots=usable.bot.allow_bots)
            now = self._p.clock.now()
            since = delivery.trying_since or now
            match await authorise(roles, event.repository, event.sender, rules, since=since, now=now):
                case Allowed(role=role):
                    looked.asked.append(Asked(ordinal, command, role))
                case Denied(reason=reason):
                    looked.reason = reason
                    if usable.bot.publish.refusals == "react" and not event.sender.is_bot:
                        looked.refused.append(Asked(ordinal, command, None))
                case Later() as later:
                    return _Looked(later=later)
        return looked


def _keep_or_purge(session: Session, delivery: Delivery, event: Event) -> None:
    """Note which comment a delivery is about; once that is deleted, its text is nowhere among the deliveries."""
    if event.comment is None:
        return
    deliveries.about(session, delivery.id, event.comment.id)
    if event.action == "deleted":
        deliveries.purge(session, event.repository.id, event.comment.id)


@dataclass(slots=True)
class _Looked:
    """What was found in one event. `later`: nobody can tell yet, look again then."""

    asked: list[Asked] = field(default_factory=list)
    refused: list[Asked] = field(default_factory=list)
    reason: str = "no mention"
    #: requests beyond those that are taken
    surplus: int = 0
    later: Later | None = None
    #: whether the bot is spoken to at all, by whomever
    mentioned: bool = False

    def spoken_to(self, event: Event) -> bool:
        """Whether a comment is no word to those who wait for one: it is a command, or a program wrote it."""
        return self.mentioned or event.sender.is_bot


def _needed(configured: Configured, command: Command) -> Role:
    """The least role for a command; where the configuration is broken, `write`."""
    if configured.configuration is None:
        return Role.WRITE
    if command.kind == "builtin":
        return configured.configuration.bot.trigger_role
    return configured.configuration.role_for(command.name)


def _declared(usable: Configuration, name: str) -> tuple[str, ...]:
    workflow = usable.workflow_for(name)
    return (*workflow.params, *workflow.inputs) if workflow else ()


def _signed(usable: Configuration, name: str) -> bool:
    """Whether it declares inputs, so that a `key=value` word with another key is a mistake and no free text."""
    workflow = usable.workflow_for(name)
    return workflow is not None and bool(workflow.inputs)


def _place(delivery: Delivery) -> tuple[str, datetime]:
    """The thread a delivery is about and its payload time, as far as the body tells; events go in that order."""
    payload: Any = None
    with suppress(ValueError):
        payload = json.loads(delivery.body)
    if not isinstance(payload, dict):
        payload = {}
    issue = payload.get("issue") or payload.get("pull_request")
    number = issue.get("number") if isinstance(issue, dict) else None
    subject = payload.get("comment") or issue
    at = delivery.received_at
    if isinstance(subject, dict):
        with suppress(ValueError, TypeError, KeyError):
            at = datetime.fromisoformat(str(subject["updated_at"]))
    if at.tzinfo is None:
        at = delivery.received_at
    return f"{delivery.repository_id}#{number}", at
