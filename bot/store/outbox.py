"""The outbox: what is to be said, whose turn it is, and what became of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam
from sqlmodel import Session, col, func, select

from bot.model.ident import digest
from bot.model.slot import Slot
from bot.model.state import OutboxState, follow
from bot.store import objects, posts
from bot.store.database import ring
from bot.store.due import due, moment
from bot.store.objects import Question
from bot.store.prepared import Prepared, one_of
from bot.store.tables import Outbox, Thread
from bot.store.turn import turn

#: what goes first when several are due
PRIORITY = {
    "result": 0,
    "output": 0,
    "error": 0,
    "cancelled": 0,
    "command": 0,
    "action": 0,
    "gate": 1,
    "request": 1,
    "reaction": 2,
    "index": 2,
    "status": 3,
}
#: what is said and may be said again with another text (a check too); everything else is an action, done once
SAID = frozenset({"comment", "reaction", "check"})
#: what is kept up to date as long as it matters: where it is gone it is said anew
LASTING = frozenset({"index", "status", "gate"})

#: for everything that is said
_OF_SLOT = Question(Outbox, which=lambda these: these.where(col(Outbox.slot) == bindparam("slot")))
_ANY_DUE = Prepared(select(Outbox.id).where(Outbox.state == OutboxState.PENDING, due(col(Outbox.not_before))).limit(1))
_NEXT_DUE = Prepared(
    select(func.min(Outbox.not_before)).where(
        one_of(Outbox.state, [OutboxState.PENDING, OutboxState.UNSURE]),
        col(Outbox.not_before) > bindparam("after"),
    )
)


@dataclass(frozen=True, slots=True)
class Saying:
    """A row that is being sent, with the thread it goes to."""

    row: Outbox
    thread: Thread


def ensure(
    session: Session,
    slot: Slot,
    *,
    thread_id: str,
    action: str,
    purpose: str,
    body: str,
    now: datetime,
    run_id: str | None = None,
    target_id: int | None = None,
    target_kind: str = "comment",
    sequence: int = 0,
    attempt_id: str | None = None,
    not_before: datetime | None = None,
) -> Outbox:
    """Make sure that `slot` says `body`: a new row, or for a posted one whose body changed an edit.

    A slot that is dropped stays dropped, unless it is a lasting one whose body changed; the same body changes nothing.
    An action is done once: its body may change only while it has not been sent. `attempt_id` names the attempt that
    waits for it; another one takes over what an earlier attempt of the same slot began.

    `target_id` is what a reaction is put on (None: the issue), or the review comment that a comment replies to (None:
    it is said in the conversation); `target_kind` what that is: `comment`, `review` or `review_comment`. What is wanted
    is sent at `not_before` at the earliest, the newest wish counts.
    """
    row = find(session, slot)
    key = digest(body)
    if row is not None and attempt_id is not None and row.attempt_id != attempt_id:
        row.attempt_id = attempt_id
        objects.save(session, row)
        posts.settled(session, row)
    if row is None:
        row = Outbox(
            slot=str(slot),
            thread_id=thread_id,
            run_id=run_id,
            action=action,
            purpose=purpose,
            body=body,
            digest=key,
            target_id=target_id,
            target_kind=target_kind,
            sequence=sequence,
            priority=PRIORITY[purpose],
            attempt_id=attempt_id,
            not_before=not_before,
            created_at=now,
        )
    elif row.digest == key or _done_with(row):
        return row
    else:
        row.body, row.digest = body, key
        if row.state in (OutboxState.POSTED, OutboxState.DROPPED):
            row.state = follow(row.state, OutboxState.PENDING)
            row.not_before, row.reason, row.tries = not_before, "", 0
        elif row.state is OutboxState.SENDING:
            row.not_before = not_before
        elif row.state is OutboxState.PENDING:
            # what was put off (it has a reason) is not sent sooner for that
            held = row.not_before if row.reason else None
            row.not_before = max(filter(None, (held, not_before)), default=None)
    objects.put(session, row)
    ring(session, "outbox")
    return row


def _done_with(row: Outbox) -> bool:
    """Whether a row takes no other body any more."""
    if row.action not in SAID:
        return row.state is not OutboxState.PENDING
    return row.state is OutboxState.DROPPED and row.purpose not in LASTING


def find(session: Session, slot: Slot) -> Outbox | None:
    """The row of a slot."""
    return of_slot(session, str(slot))


def of_slot(session: Session, slot: str) -> Outbox | None:
    """The same by the slot as its marker has it."""
    found: Outbox | None = _OF_SLOT.first(session, {"slot": slot})
    return found


def parts(session: Session, slot: Slot) -> list[Outbox]:
    """Every part of what a slot says, in order."""
    found: list[Outbox] = []
    while (row := find(session, replace(slot, part=len(found)))) is not None:
        found.append(row)
    return found


def following(
    session: Session,
    now: datetime,
    most: int,
    *,
    silent: Collection[int] = (),
    no_content: Collection[int] = (),
    away: bool = False,
) -> list[Saying]:
    """What is to be sent next, `most` at most. None of it has to wait for another: what is under way holds back what
    what is pending does.

    Results of one thread go out in dispatch order: an open earlier one holds back later ones of its thread, no
    others; so does an earlier run that was cancelled and has not ended yet. What one attempt waits for is done in the
    order it was asked for, and so is what an agent of one run wants of one kind. Nothing that goes to GitHub is taken
    of installations that are `silent`, and no `CONTENT` where there is to be `no_content`; nothing at all of it while
    GitHub is `away`.
    """
    bounds = {
        **moment(now), "silent": list(silent), "no_content": list(no_content), "away": away, "most": most,
    }  # fmt: skip
    return [Saying(row, thread) for row, thread in session.exec(turn(), params=bounds)]


def take(session: Session, row: Outbox, owner: str, now: datetime) -> None:
    """`owner` sends it now."""
    row.state = follow(row.state, OutboxState.SENDING)
    row.lease_owner = owner
    row.sent_at = now
    row.tries += 1
    objects.save(session, row)


def any_due(session: Session, now: datetime) -> bool:
    """Whether there may be something to send: whether its turn has come is asked by `following`."""
    return _ANY_DUE.first(session, moment(now)) is not None


def posted(
    session: Session,
    row_id: str,
    posted_id: int | None,
    url: str,
    now: datetime,
    sent_digest: str,
    outcome: dict[str, Any] | None = None,
) -> None:
    """It stands on GitHub, which answered `outcome`.

    Where the wanted text changed while it was sent, it is pending again, as an edit.
    """
    row = objects.get_one(session, Outbox, row_id)
    row.state = follow(row.state, OutboxState.POSTED)
    row.posted_id, row.url, row.posted_at = posted_id, url, now
    row.outcome = outcome if outcome is not None else {"id": posted_id, "url": url}
    row.reason, row.tries = "", 0
    if row.digest != sent_digest and row.action in SAID:
        row.state = follow(row.state, OutboxState.PENDING)
    else:
        row.not_before = None
        if row.action in SAID:
            row.digest = digest(row.body)
    objects.save(session, row)
    ring(session, "outbox")
    ring(session, "posted")
    posts.settled(session, row)


def postpone(session: Session, row_id: str, until: datetime | None, reason: str) -> None:
    """It was surely not done: send it (again) at `until`."""
    row = objects.get_one(session, Outbox, row_id)
    row.state = follow(row.state, OutboxState.PENDING)
    row.not_before, row.reason = until, reason
    session.add(row)
    ring(session, "outbox")


def anew(session: Session, row_id: str, reason: str) -> None:
    """The comment it was to change is gone: say it in a new one."""
    row = objects.get_one(session, Outbox, row_id)
    row.state = follow(row.state, OutboxState.PENDING)
    row.posted_id, row.url, row.posted_at = None, "", None
    row.not_before, row.reason = None, reason
    session.add(row)
    ring(session, "outbox")


def restate(session: Session, row: Outbox) -> None:
    """Somebody changed what stands there: say it again, though what we want to say is the same."""
    if not row.body:  # it is kept no longer
        return
    if row.state is OutboxState.POSTED:
        row.state = follow(row.state, OutboxState.PENDING)
        row.not_before, row.reason, row.tries = None, "", 0
    elif row.state is OutboxState.SENDING:
        # what is under way may have come before the change: `posted` finds another digest, and sends once more
        row.digest = digest(row.digest, "again")
    else:
        return
    session.add(row)
    session.flush()
    ring(session, "outbox")


def deleted(session: Session, row: Outbox) -> None:
    """Somebody deleted what stood there: say it in a new comment, unless its text is kept no longer."""
    if not row.body:
        return
    if row.state is OutboxState.POSTED:
        row.state = follow(row.state, OutboxState.PENDING)
    row.posted_id, row.url, row.posted_at = None, "", None
    row.not_before, row.reason, row.tries = None, "deleted by somebody", 0
    session.add(row)
    session.flush()
    ring(session, "outbox")


def revive(session: Session, row: Outbox) -> None:
    """What was refused can be said by now."""
    row.state = follow(row.state, OutboxState.PENDING)
    row.not_before, row.reason, row.tries = None, "", 0
    session.add(row)
    session.flush()
    ring(session, "outbox")


def untarget(session: Session, row_id: str, reason: str) -> None:
    """What it was to reply to takes no reply: say it in the conversation."""
    row = objects.get_one(session, Outbox, row_id)
    row.state = follow(row.state, OutboxState.PENDING)
    row.target_id, row.target_kind = None, "comment"
    row.not_before, row.reason = None, reason
    session.add(row)
    ring(session, "outbox")


def drop(session: Session, row_id: str, reason: str, outcome: dict[str, Any] | None = None) -> None:
    """It can never be said or done; the reason stays, and in `outcome` what there is to know about it."""
    row = objects.get_one(session, Outbox, row_id)
    row.state = follow(row.state, OutboxState.DROPPED)
    row.reason, row.outcome = reason, outcome if outcome is not None else row.outcome
    session.add(row)
    ring(session, "outbox")
    ring(session, "posted")
    posts.settled(session, row)


def next_due(session: Session, after: datetime) -> datetime | None:
    """When the earliest row is due that waits for a time behind `after`."""
    found: datetime | None = _NEXT_DUE.scalar(session, {"after": after})
    return found
