"""What happened on a thread answers the runs that wait for it; each once, in the transaction of its delivery."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

from bot.dispatch.identity import Identity
from bot.model.clock import Clock
from bot.model.event import Signal
from bot.store import Session, Store, gates, threads
from bot.store.tables import Delivery

#: GitHub's times are whole seconds, and its clock is not ours: an event this long before a gate opened may be later
SKEW = timedelta(seconds=5)
#: why a check is looked at no further
OWN = "our own"

#: what all checks of a commit come to; None while one of them has not ended
Conclusion = Callable[[], Awaitable[str | None]]


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
    store: Store, identity: Identity, delivery: Delivery, signal: Signal, clock: Clock, conclusion: Conclusion
) -> tuple[list[str], str]:
    """Answer the runs that wait for the checks of a commit; their names, or why there are none.

    Done again, it answers nobody twice. `conclusion` tells what all checks of the commit come to.
    """
    received = delivery.received_at
    # whoever pushed is the sender of a check; what counts is whose check it is
    if signal.app_id == identity.app_id:
        return [], OWN
    if not await store.read(lambda session: bool(waited_for(session, signal, received, clock.now()))):
        return [], "nothing waits for it"
    # one has ended, and they wait for all
    concluded = await conclusion()
    if concluded is None:
        return [], "other checks of the commit still run"
    whole = replace(signal, fields={**signal.fields, "conclusion": concluded})
    names = await store.write(lambda session: answer(session, whole, received, clock.now()))
    return names, "" if names else "nothing waits for it"
