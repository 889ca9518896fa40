"""Whether anything may be started in a thread now: its pause, its breaker, the repository's limits, the operator's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf

from bot import log
from bot.dispatch import quota
from bot.model.slot import Slot
from bot.model.thread import Account
from bot.publish import Speaker, inline_code, note_body
from bot.store import Session, outbox, replies, spending
from bot.store.tables import Thread
from bot.workflows import Limits

_log = log.get("dispatch")

#: dispatches of a thread within `BREAKER_TIME`; one more trips its breaker, which holds as long
BREAKER_DISPATCHES = 20
BREAKER_TIME = timedelta(hours=1)
#: answers in words to one person, or to one bot, in a thread within `BREAKER_TIME`; one more trips a breaker as long
ANSWERS_PERSON = 60
ANSWERS_BOT = 20


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What whoever runs the bot allows at most, in US dollars: the whole instance in 24 hours, and one run."""

    usd_day: float = inf
    usd_run: float = inf


#: where nobody sets any
NO_CEILINGS = Ceilings()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing is started. `key` is kept with the dispatch, `told` is a clause for people; `once` names what is told
    once in a thread, such as one pause.
    """

    key: str
    told: str
    once: str


def refusal(
    session: Session, thread: Thread, actor: Account, limits: Limits, ceilings: Ceilings, handle: str, now: datetime
) -> Refusal | None:
    """Why another dispatch by `actor` is not started; None if it may be. Trips the breaker where it is one too many.

    Built-in commands that start nothing never ask.
    """
    if thread.paused:
        since = thread.paused_at or now
        by = f"{inline_code(thread.paused_by)} stopped me" if thread.paused_by else "I am stopped"
        told = f"{by} in this thread; {inline_code(f'{handle} resume')} goes on"
        return Refusal("paused", told, f"paused-{_moment(since)}")
    if (until := _breaker(session, thread, now)) is not None:
        told = (
            f"more than {BREAKER_DISPATCHES} requests were made in this thread within an hour; "
            f"new ones are taken again at {until:%H:%M} UTC"
        )
        return Refusal("breaker", told, f"breaker-{_moment(until)}")
    return day(session, actor, limits, ceilings, now=now, repository_id=thread.repository_id, thread_id=thread.id)


def day(
    session: Session,
    actor: Account,
    limits: Limits,
    ceilings: Ceilings,
    *,
    now: datetime,
    repository_id: int,
    thread_id: str | None = None,
) -> Refusal | None:
    """Why the limits of a day, the repository's or the operator's, forbid another dispatch by `actor`; None if none do.

    `thread_id` is None where the thread is to be opened for it.
    """
    if (limit := quota.reached(session, repository_id, thread_id, actor, limits, now)) is not None:
        told = f"{limit.told}; ask again later, or raise that limit"
        return Refusal(limit.key, told, f"{limit.key}-{now:%Y-%m-%d}")
    if spending.day_is_spent(session, ceilings.usd_day, now):
        told = (
            f"the ${ceilings.usd_day:g} in 24 hours are spent that whoever runs me allows for all repositories; "
            "ask again later"
        )
        return Refusal("operator_day", told, f"operator_day-{now:%Y-%m-%d}")
    return None


def hushed(session: Session, thread: Thread, sender: Account, now: datetime) -> Refusal | None:
    """Why `sender` is not answered in words; None if so. Trips the breaker of answers where it is one too many.

    Each thread and sender has one, so that nobody, and no two bots, keep us talking for ever.
    """
    most = ANSWERS_BOT if sender.is_bot else ANSWERS_PERSON
    given = replies.since(session, thread.id, sender.id, now - BREAKER_TIME)
    tripped = next((one.at for one in given if one.unsaid), None)
    if tripped is None and len(given) < most:
        return None
    if tripped is None:
        tripped = now
        replies.add(session, thread.id, sender.id, now, unsaid=True)
        _log.warning("answers_tripped", thread=thread.id, sender=sender.id, until=(now + BREAKER_TIME).isoformat())
    until = tripped + BREAKER_TIME
    told = (
        f"{most} answers went to {inline_code(sender.login)} here within an hour; I answer again at {until:%H:%M} UTC"
    )
    return Refusal("answers", told, f"answers-{sender.id}-{_moment(until)}")


def answers(session: Session, thread: Thread, sender: Account, speaker: Speaker, now: datetime) -> bool:
    """Count one more answer in words that `sender` is about to get; False, told once, where none is given."""
    refused = hushed(session, thread, sender, now)
    if refused is not None:
        tell(session, thread, refused, speaker, "Nothing more is said")
        return False
    replies.add(session, thread.id, sender.id, now)
    return True


def tell(
    session: Session,
    thread: Thread,
    refused: Refusal,
    speaker: Speaker,
    what: str = "Nothing was started",
    *,
    target_id: int | None = None,
) -> None:
    """One sentence in the thread, once for what it is about; `target_id` is the review comment that is answered."""
    slot = Slot(f"thread/{thread.id}", "limit", step=refused.once)
    if outbox.find(session, slot) is None:
        body = note_body(f"{what}: {refused.told}.")
        speaker.comment(session, thread, slot, purpose="error", body=body, target_id=target_id)


def _breaker(session: Session, thread: Thread, now: datetime) -> datetime | None:
    """Until when the thread's breaker holds; None if it does not."""
    if thread.breaker_until is not None and now < thread.breaker_until:
        return thread.breaker_until
    made = spending.dispatched(session, now - BREAKER_TIME, repository_id=thread.repository_id, thread_id=thread.id)
    if made < BREAKER_DISPATCHES:
        return None
    thread.breaker_until = now + BREAKER_TIME
    session.add(thread)
    _log.warning("breaker_tripped", thread=thread.id, dispatches=made, until=thread.breaker_until.isoformat())
    return thread.breaker_until


def _moment(at: datetime) -> str:
    """A time as part of a slot."""
    return f"{at:%Y%m%dT%H%M%S.%f}"
