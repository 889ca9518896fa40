"""The inbox: deliveries by both identities."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import islice
from typing import Literal

from sqlalchemy import ColumnElement, String, Table, bindparam, cast, func, update
from sqlalchemy.exc import NoResultFound
from sqlmodel import Session, and_, col, or_, select

from bot.model.delivery import NewDelivery
from bot.model.ident import new_id
from bot.model.state import DeliveryState, DispatchState, follow
from bot.store import objects
from bot.store.database import ring
from bot.store.due import due as due_at
from bot.store.due import moment
from bot.store.insert import insert_new
from bot.store.objects import Question
from bot.store.prepared import Prepared
from bot.store.tables import Delivery, Dispatch

Taken = Literal["accepted", "duplicate"]

#: the webhook event whose bodies hold the text of a comment, by what sort of comment it is
_TOLD_BY = {
    "comment": "issue_comment",
    "review": "pull_request_review",
    "review_comment": "pull_request_review_comment",
}

#: for every delivery
_DUE = Prepared(
    select(Delivery.id)
    .where(
        Delivery.state == DeliveryState.NEW,
        due_at(col(Delivery.not_before)),
    )
    .order_by(col(Delivery.id))
    .limit(bindparam("most"))
)
_THESE = select(Delivery).where(col(Delivery.id).in_(bindparam("these", expanding=True))).order_by(col(Delivery.id))
_NEXT_DUE = Prepared(
    select(func.min(Delivery.not_before)).where(
        Delivery.state == DeliveryState.NEW, col(Delivery.not_before) > bindparam("after")
    )
)
#: what was received is not read for it
_STATE = Question(
    Delivery,
    which=lambda these: these.where(col(Delivery.id) == bindparam("which")),
    without=("headers", "body"),
)
_ROWS: Table = Delivery.__table__  # type: ignore[attr-defined]  # SQLModel types no table
_ABOUT = Prepared(
    update(_ROWS)
    .where(_ROWS.c.id == bindparam("which"))
    .values(comment_id=bindparam("comment"), number=bindparam("thread"))
)
_KEPT = select(Delivery.id).where(col(Delivery.id).in_(bindparam("these", expanding=True)))


def take(session: Session, new: NewDelivery, now: datetime) -> Taken:
    """Keep a delivery unless one with the same GUID or the same content is kept already."""
    return take_all(session, [new], now)[0]


def take_all(session: Session, new: Sequence[NewDelivery], now: datetime) -> list[Taken]:
    """Keep deliveries, each unless one with the same GUID or the same content is kept already, or stands before it."""
    rows = [
        {
            "id": new_id(),
            "app_id": each.app_id,
            "guid": each.guid,
            "content_key": each.content,
            "event": each.event,
            "action": each.action,
            "repository_id": each.repository_id,
            "headers": dict(each.headers),
            "body": each.body,
            "received_at": now,
            "origin": each.origin,
            "state": DeliveryState.NEW,
            "reason": "",
        }
        for each in new
    ]
    # without the ORM, which costs more than everything else that is done for a delivery. Nearly always all are new
    inserted = insert_new(session, Delivery, rows)
    if inserted:
        ring(session, "delivery")
    if inserted == len(rows):
        return ["accepted"] * len(rows)
    kept = set(session.exec(_KEPT, params={"these": [row["id"] for row in rows]})) if inserted else set()
    return ["accepted" if row["id"] in kept else "duplicate" for row in rows]


def open_batch(session: Session, now: datetime, limit: int = 64, *, busy: Collection[str] = ()) -> list[Delivery]:
    """The oldest deliveries that nobody looked at yet and that are due, `busy` ones left out."""
    # of a long backlog no more is looked at than may be needed
    due = (delivery_id for (delivery_id,) in _DUE.all(session, moment(now) | {"most": limit + len(busy)}))
    # left out here and not in the query: there may be more of them than a statement takes variables
    chosen = list(islice((delivery_id for delivery_id in due if delivery_id not in busy), limit))
    return list(session.exec(_THESE, params={"these": chosen})) if chosen else []


def next_due(session: Session, after: datetime) -> datetime | None:
    """When the earliest delivery is due that is put off until behind `after`.

    One whose time had come by then, and that nobody looks at, waits for something that rings when it is over.
    """
    found: datetime | None = _NEXT_DUE.scalar(session, {"after": after})
    return found


def settle(session: Session, delivery_id: str, new: DeliveryState, reason: str = "") -> None:
    """Record what became of a delivery. Raises `NoResultFound` where it was forgotten meanwhile."""
    row: Delivery | None = _STATE.first(session, {"which": delivery_id})
    if row is None:
        raise NoResultFound(f"there is no delivery {delivery_id}")
    row.state = follow(row.state, new)
    row.reason = reason
    row.not_before = row.looked_by = None
    objects.save(session, row)


def note(session: Session, delivery_id: str, reason: str) -> None:
    """Add to what is known of a settled delivery."""
    row = session.get_one(Delivery, delivery_id)
    row.reason = "; ".join(filter(None, (row.reason, reason)))[:500]
    session.add(row)


def about(session: Session, delivery_id: str, comment_id: int | None, number: int) -> None:
    """Note which comment a delivery is about, and which issue or pull request."""
    _ABOUT.run(session, {"which": delivery_id, "comment": comment_id, "thread": number})


def purge(
    session: Session, repository_id: int, comment_id: int, kind: str = "comment", review_id: int | None = None
) -> None:
    """A comment was deleted: no settled delivery about it keeps its text, nor does a dispatch that has ended.

    `kind` is what was deleted: a comment, or a review comment, which may have the same number. `review_id` is the
    review that a review comment came with: a dispatch that the review led to holds its comments' texts.
    """
    _purge(
        session,
        col(Delivery.repository_id) == repository_id,
        col(Delivery.comment_id) == comment_id,
        col(Delivery.event) == _TOLD_BY[kind],
    )
    ended = [DispatchState.DONE, DispatchState.CANCELLED, DispatchState.REFUSED, DispatchState.SET_ASIDE]
    for dispatch in session.exec(
        select(Dispatch)
        .join(Delivery, col(Delivery.id) == col(Dispatch.delivery_id))
        .where(
            Delivery.repository_id == repository_id,
            or_(
                and_(Dispatch.comment_id == comment_id, Dispatch.target_kind == kind),
                and_(Dispatch.comment_id == review_id, Dispatch.target_kind == "review"),
                # a retry has the words of what asked at first, and asks from elsewhere
                # (as text: as an integer PostgreSQL would take 32 bits, and GitHub's numbers are larger)
                cast(col(Dispatch.trigger)["comment_id"].as_string(), String) == str(comment_id),
            ),
            col(Dispatch.state).in_(ended),
        )
    ):
        dispatch.request = ""
        dispatch.trigger = {**dispatch.trigger, "text": ""}
        session.add(dispatch)


def purge_thread(session: Session, repository_id: int, number: int) -> None:
    """A whole issue was deleted: no settled delivery about it keeps its text, or that of a comment."""
    _purge(session, col(Delivery.repository_id) == repository_id, col(Delivery.number) == number)


def empty(session: Session, delivery_id: str) -> None:
    """A settled delivery keeps no text."""
    session.execute(update(Delivery).where(col(Delivery.id) == delivery_id).values(body=b""))


def _purge(session: Session, *where: ColumnElement[bool]) -> None:
    """What is settled loses its body; what was put off is looked at now, and loses it then."""
    new = col(Delivery.state) == DeliveryState.NEW
    session.execute(update(Delivery).where(*where, ~new).values(body=b""))
    late = and_(new, col(Delivery.not_before).is_not(None))
    if session.execute(
        update(Delivery).where(*where, late).values(not_before=None).returning(col(Delivery.id))
    ).first():
        ring(session, "delivery")


def postpone(session: Session, delivery_id: str, until: datetime, since: datetime | None, reason: str) -> None:
    """Look at it again at `until`; `since` is when trying began, None where nobody tries anything."""
    session.execute(
        update(Delivery)
        .where(col(Delivery.id) == delivery_id)
        .values(not_before=until, trying_since=since, reason=reason, looked_by=None)
    )
    ring(session, "delivery")


def replay(session: Session, delivery_id: str) -> None:
    """Plan a delivery again that was ignored or failed. Raises `IllegalTransition` for one that led to a dispatch."""
    row = session.get_one(Delivery, delivery_id)
    row.state = follow(row.state, DeliveryState.NEW)
    row.reason, row.not_before, row.trying_since = "", None, None
    row.looked_by, row.interruptions = None, 0
    session.add(row)
    ring(session, "delivery")


def known(session: Session, app_id: int, guids: Collection[str]) -> set[str]:
    """Which of these GUIDs are kept already; at most a few hundred at once."""
    found = session.exec(select(Delivery.guid).where(Delivery.app_id == app_id, col(Delivery.guid).in_(guids)))
    return set(found)


def heard(session: Session, repository_id: int, number: int, comment_id: int | None, *, besides: str = "") -> bool:
    """Whether a delivery other than `besides` told how a comment, or (None) a thread, began or was edited."""
    found = select(Delivery.id).where(
        *_of_text(repository_id, number, comment_id),
        col(Delivery.action).in_(["created", "opened", "edited"]),
        Delivery.id != besides,
    )
    return session.exec(found.limit(1)).first() is not None


def scans(session: Session, repository_id: int, number: int, comment_id: int | None) -> list[bytes]:
    """The bodies of what scans told of a comment, or (None) of a thread, once they were looked at."""
    found = select(Delivery.body).where(*_of_text(repository_id, number, comment_id), Delivery.origin == "scan")
    return [body for body in session.exec(found) if body]


def _of_text(repository_id: int, number: int, comment_id: int | None) -> tuple[ColumnElement[bool], ...]:
    """Deliveries that were looked at, about a comment of a conversation or a thread's own text."""
    events = ["issues", "pull_request"] if comment_id is None else ["issue_comment"]
    return (
        col(Delivery.repository_id) == repository_id,
        col(Delivery.number) == number,
        col(Delivery.comment_id).is_(None) if comment_id is None else col(Delivery.comment_id) == comment_id,
        col(Delivery.event).in_(events),
        col(Delivery.state) != DeliveryState.NEW,
    )


def received_at(session: Session, delivery_id: str) -> datetime:
    """When a delivery arrived."""
    return session.get_one(Delivery, delivery_id).received_at


def find(session: Session, key: str) -> Delivery | None:
    """By row id or by GUID."""
    return session.exec(select(Delivery).where(or_(Delivery.id == key, Delivery.guid == key))).first()
