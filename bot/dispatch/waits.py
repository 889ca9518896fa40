"""What happened on a thread answers the runs that wait for it; each once, in the transaction of its delivery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from bot.dispatch.identity import Identity
from bot.github import RepositoryClient
from bot.model.clock import Clock
from bot.model.event import Signal
from bot.model.pull import concluded
from bot.model.state import DeliveryState
from bot.store import Session, Store, deliveries, gates, threads
from bot.store.tables import Delivery

#: GitHub's times are whole seconds, and its clock is not ours: an event this long before a gate opened may be later
SKEW = timedelta(seconds=5)


def waited_for(session: Session, signal: Signal, received: datetime, now: datetime) -> list[gates.Asked]:
    """The open gates that wait for what happened. It has to be later than they: told later, and no old event told late.

    `received` is when the delivery came.
    """
    found: list[gates.Asked] = []
    for number in signal.numbers:
        thread = threads.find(session, signal.repository.id, number)
        if thread is None:
            continue
        for asked in gates.expecting(session, thread.id, signal.event, now):
            opened = asked.gate.opened_at
            if opened is None or (received >= opened and signal.at >= opened - SKEW):
                found.append(asked)
    return found


def answer(session: Session, signal: Signal, received: datetime, now: datetime) -> list[str]:
    """Answer them; their names, as `r1.merged`."""
    names = []
    for asked in waited_for(session, signal, received, now):
        event = {"event": signal.event, **signal.fields}
        kept = {"event": event, "by": signal.sender.login, "channel": "event", "at": now.isoformat()}
        gates.settle(session, asked.gate, kept)
        names.append(asked.name)
    return names


async def hear(
    store: Store, client: RepositoryClient, identity: Identity, delivery: Delivery, signal: Signal, clock: Clock
) -> str:
    """Settle a delivery that nobody can ask for anything with, and say what came of it."""
    received = delivery.received_at

    def settle(session: Session, names: Sequence[str], reason: str) -> str:
        state = DeliveryState.PLANNED if names else DeliveryState.IGNORED
        reason = f"answered {', '.join(names)}" if names else reason
        deliveries.settle(session, delivery.id, state, reason)
        return reason

    def work(session: Session) -> str:
        return settle(session, answer(session, signal, received, clock.now()), "nothing waits for it")

    checks = signal.event == "checks_completed"
    # whoever pushed is the sender of a check; what counts is whose check it is
    if signal.app_id == identity.app_id if checks else identity.is_me(signal.sender):
        return await store.write(lambda session: settle(session, (), "our own"))
    if checks and await store.read(lambda session: bool(waited_for(session, signal, received, clock.now()))):
        # one has ended, and they wait for all
        conclusion = concluded([one for one in await client.check_runs(signal.sha) if one.app_id != identity.app_id])
        if conclusion is None:
            return await store.write(lambda session: settle(session, (), "other checks of the commit still run"))
        signal = replace(signal, fields={**signal.fields, "conclusion": conclusion})
    return await store.write(work)
