"""Deliveries that are no event on one thread: checks that have ended, pushes, and times that have come."""

from __future__ import annotations

from collections.abc import Sequence

from bot import log, publish
from bot.dispatch import failed_checks, scheduled, schedules, waits
from bot.dispatch.identity import Identity
from bot.dispatch.occasion import Heard
from bot.dispatch.parts import Parts
from bot.dispatch.schedules import Due, Place
from bot.github import RepositoryClient
from bot.model.event import Event, Notice, Signal
from bot.model.pull import concluded
from bot.model.state import DeliveryState
from bot.store import Session, deliveries, threads
from bot.store.tables import Delivery

_log = log.get("dispatch")


class Elsewhere:
    """Settles such a delivery."""

    def __init__(self, parts: Parts) -> None:
        self._p = parts

    async def hear(
        self, delivery: Delivery, event: Signal | Notice | Due, identity: Identity, client: RepositoryClient
    ) -> None:
        """Settle it, with all that follows. Raises `Postponed` and `Transient` where it is looked at again."""
        match event:
            case Signal():
                await self._checks(delivery, event, identity, client)
            case Notice():
                await self._pushed(delivery, event, client)
            case Due():
                found = await scheduled.hear(self._p, delivery, event, identity, client)
                await self._settle(delivery, [found])

    async def _checks(self, delivery: Delivery, signal: Signal, identity: Identity, client: RepositoryClient) -> None:
        """A check has ended: runs may wait for it, and workflows start when it was the last and not all is well."""
        conclusion = _Conclusion(signal, identity, client)
        names, reason = await waits.hear(self._p.store, identity, delivery, signal, self._p.clock, conclusion)
        heard: list[tuple[Event | None, Heard]] = []
        if reason != waits.OWN:
            heard = await failed_checks.hear(self._p, delivery, signal, identity, client, conclusion)
        await self._settle(delivery, heard, names, reason)

    async def _pushed(self, delivery: Delivery, notice: Notice, client: RepositoryClient) -> None:
        """The default branch may want other times of its workflows."""
        repository = notice.repositories[0]
        if notice.fields.get("ref") != f"refs/heads/{repository.default_branch}" or "touches" not in notice.fields:
            await self._settle(delivery, (), reason="a push that leaves the configuration as it is")
            return
        configured = await self._p.configured(client)
        place, now = Place(repository, notice.installation_id), self._p.clock.now()

        def work(session: Session) -> None:
            schedules.follow(session, place, configured, now)
            deliveries.settle(session, delivery.id, DeliveryState.IGNORED, "the configuration was read")

        await self._p.store.write(work)

    async def _settle(
        self,
        delivery: Delivery,
        heard: Sequence[tuple[Event | None, Heard]],
        names: Sequence[str] = (),
        reason: str = "",
    ) -> None:
        """Do what follows, each on its thread, and record what became of the delivery, and why."""
        reasons = [*([f"answered {', '.join(names)}"] if names else []), *(one.reason for _, one in heard)]
        text = ("; ".join(filter(None, reasons)) or reason)[:500]
        loud = bool(names) or any(not one.silent for _, one in heard)

        def work(session: Session) -> None:
            for event, one in heard:
                if event is not None:
                    repository, issue = event.repository, event.issue
                    thread = threads.ensure(session, repository, issue, event.installation_id, event.at)
                    one.act(session, thread)
            state = DeliveryState.PLANNED if loud else DeliveryState.IGNORED
            deliveries.settle(session, delivery.id, state, text)

        await publish.write(self._p.store, work)
        _log.info("delivery", guid=delivery.guid, reason=text)


class _Conclusion:
    """What all checks of a commit but our own come to; asked at most once a look."""

    def __init__(self, signal: Signal, identity: Identity, client: RepositoryClient) -> None:
        self._signal, self._identity, self._client = signal, identity, client
        self._known: list[str | None] = []

    async def __call__(self) -> str | None:
        if not self._known:
            checks = await self._client.check_runs(self._signal.sha)
            self._known.append(concluded([one for one in checks if one.app_id != self._identity.app_id]))
        return self._known[0]
