"""The sweeps that forget a person: every text of theirs, and their login wherever rows name it beside their number.

Their number stays: with what was spent, and so that limits and refusals hold. A run that read a text of theirs loses
its bytes, whoever asked for it. What is under way is let end, and goes then; until that their texts in its thread stay,
by which it is known that it may have read one, or may quote one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, and_, col, exists, func, not_, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from bot.model.state import DeliveryState
from bot.store import posts, purging
from bot.store.forgetting import FORGOTTEN, Forgotten
from bot.store.kept import LOGINS, table
from bot.store.kind import Goes
from bot.store.purging import OPEN, request_ended, said_and_done
from bot.store.retention import began
from bot.store.sweep import PAGE, Page, Sweep, deleting, paged
from bot.store.sweep import purging as takes
from bot.store.tables import Attempt, Blob, CommentVersion, Delivery, Dispatch, Gate, Outbox, Pin, Run, Steer, Thread

#: runs that one read looks at: each may have read a long thread
_LOOKED_AT = 50


def runs(session: Session, what: Forgotten, after: str) -> Page:
    """Runs behind an id that are over and have their bytes, and read a text of theirs or were asked for by them."""
    query = select(Run).where(
        col(Run.id) > after, _has_bytes(what), col(Run.state).not_in(OPEN), col(Run.id).not_in(purging.speaking())
    )
    found = session.exec(query.order_by(col(Run.id)).limit(_LOOKED_AT)).all()
    due = [run.id for run in found if _knows(session, run, what)]
    return Page(due, found[-1].id if len(found) == _LOOKED_AT else None)


def left(session: Session, what: Forgotten) -> int:
    """What may hold a text of theirs and cannot go yet: runs under way, posts of no run that have yet to leave, and
    deliveries that nobody looked at or that began a run under way.
    """
    there = set(session.exec(_there(what)))
    under_way = session.exec(select(Run).where(_has_bytes(what), _goes_on())).all()
    unsaid = select(func.count(col(Outbox.id))).where(col(Outbox.state).in_(posts.OPEN), _quotes(what))
    # one body at a time: they may be large
    bodies = select(Delivery.id).where(col(Delivery.received_at) <= what.at, not_(_settled()), _has_body())
    names = _naming(what)
    return (
        sum(run.thread_id in there or _knows(session, run, what) for run in under_way)
        + session.exec(unsaid).one()
        + sum(
            names.search(session.exec(select(Delivery.body).where(Delivery.id == one)).one()) is not None
            for one in session.exec(bodies).all()
        )
    )


def busy(session: Session, what: Forgotten) -> set[str]:
    """Threads in which a run is under way that may have read them, or a post that may quote them has yet to leave."""
    reading = select(Run.thread_id).where(_has_bytes(what), _goes_on())
    quoting = select(Outbox.thread_id).where(col(Outbox.state).in_(posts.OPEN), _quotes(what))
    return {*session.exec(reading), *session.exec(quoting)}


def _has_bytes(what: Forgotten) -> ColumnElement[bool]:
    """Whether a run was there when it was asked for, and has its bytes."""
    return and_(col(Run.queued_at) <= what.at, col(Run.purged_at).is_(None))


def _goes_on() -> ColumnElement[bool]:
    """Whether a run is under way, or has something left to say."""
    return or_(col(Run.state).in_(OPEN), col(Run.id).in_(purging.speaking()))


def _there(what: Forgotten) -> SelectOfScalar[str]:
    """The threads of which a text of theirs is known."""
    known = aliased(CommentVersion)
    return select(known.thread_id).where(known.author_id == what.id).distinct()


def _quotes(what: Forgotten) -> ColumnElement[bool]:
    """Whether a post of no run may quote them: it names them, or was said where they wrote."""
    return and_(
        col(Outbox.run_id).is_(None),
        col(Outbox.action) != "reaction",
        col(Outbox.created_at) <= what.at,
        or_(
            func.lower(col(Outbox.body)).contains(what.name.lower(), autoescape=True),
            col(Outbox.thread_id).in_(_there(what)) & (col(Outbox.purpose) != "index"),
        ),
    )


def _knows(session: Session, run: Run, what: Forgotten) -> bool:
    dispatch = session.get_one(Dispatch, run.dispatch_id)
    login = what.name.casefold()
    if dispatch.actor_id == what.id or str(dispatch.issue.get("author", "")).casefold() == login:
        return True
    if session.exec(select(Steer.id).where(Steer.run_id == run.id, Steer.by_id == what.id).limit(1)).first():
        return True
    if any((gate.answer or {}).get("by_id") == what.id for gate in session.exec(_gates(run.id))):
        return True
    if run.cancelled_by is not None and run.cancelled_by.casefold() == login:
        return True
    for manifest in session.exec(select(Attempt.manifest).where(Attempt.run_id == run.id)):
        if any(str(one["author"]).casefold() == login for one in (manifest or {}).get("comments", ())):
            return True
    blob = session.get(Blob, run.thread_blob) if run.thread_blob is not None else None
    if blob is None:
        return False
    read = json.loads(blob.data)
    messages = [*read["messages"], *(pin["message"] for pin in read["pins"]), read["issue"]]
    if any(one["author"]["id"] == what.id for one in messages):
        return True
    # an agent may have read any older comment by a tool
    return not read["complete"] and _wrote_in(session, run.thread_id, what)


def _gates(run_id: str) -> SelectOfScalar[Gate]:
    return select(Gate).where(Gate.run_id == run_id)


def _wrote_in(session: Session, thread_id: str, what: Forgotten) -> bool:
    """Whether a text of theirs is known of a thread."""
    known = select(CommentVersion.id).where(CommentVersion.thread_id == thread_id, CommentVersion.author_id == what.id)
    return session.exec(known.limit(1)).first() is not None


def sweeps(what: Forgotten, busy: Collection[str]) -> list[Sweep]:
    """What takes the rest: comments, requests, words, pins, deliveries, quotes in posts; and last the login.

    `busy` is what `busy` said before `runs` was asked: what ends in between was not looked at.
    """
    versions = and_(
        col(CommentVersion.author_id) == what.id,
        col(CommentVersion.seen_at) <= what.at,
        col(CommentVersion.deleted_at).is_(None),
        col(CommentVersion.thread_id).not_in(busy),
    )
    ended = request_ended()
    requests = and_(col(Dispatch.actor_id) == what.id, col(Dispatch.created_at) <= what.at, ended)
    over: ColumnElement[bool] = not_(
        exists(select(Run.id).where(col(Run.id) == col(Steer.run_id), col(Run.state).in_(OPEN)))
    )
    words = and_(col(Steer.by_id) == what.id, col(Steer.at) <= what.at, over)
    quotes = and_(said_and_done(), _quotes(what))
    return [
        Sweep("outbox", paged("outbox", quotes, col(Outbox.body) != ""), takes("outbox", Goes.SAID, quotes)),
        _deliveries(what),
        Sweep("dispatch", paged("dispatch", requests), takes("dispatch", Goes.REQUEST, requests)),
        _issues(what, busy),
        Sweep("steer", paged("steer", words), takes("steer", Goes.RUN, words)),
        _pinned(what),
        Sweep("commentversion", paged("commentversion", versions), deleting("commentversion", versions)),
        *_logins(what),
    ]


def _deliveries(what: Forgotten) -> Sweep:
    """Deliveries that name them by their number, as sender, author or anything else."""
    names = _naming(what)
    settled = and_(col(Delivery.received_at) <= what.at, _settled())

    def find(session: Session, after: str) -> Page:
        query = select(Delivery.id, Delivery.body).where(col(Delivery.id) > after, settled, _has_body())
        rows = session.exec(query.order_by(col(Delivery.id)).limit(PAGE // 10)).all()
        due = [row_id for row_id, body in rows if names.search(body)]
        return Page(due, rows[-1][0] if len(rows) == PAGE // 10 else None)

    return Sweep("delivery", find, takes("delivery", Goes.BODY, settled))


def _naming(what: Forgotten) -> re.Pattern[bytes]:
    """What finds their number in a payload."""
    return re.compile(rb'"id":\s*%d\b' % what.id)


def _settled() -> ColumnElement[bool]:
    """Whether a delivery was looked at, and nothing that it began is under way."""
    return and_(col(Delivery.state) != DeliveryState.NEW, not_(began(col(Run.state).in_(OPEN))))


def _has_body() -> ColumnElement[bool]:
    return func.length(col(Delivery.body)) > 0


def _issues(what: Forgotten, busy: Collection[str]) -> Sweep:
    """What others asked for on an issue of theirs keeps the request and loses the issue's text."""

    def theirs(issue: Any) -> bool:
        return isinstance(issue, dict) and str(issue.get("author", "")).casefold() == what.name.casefold()

    ended = and_(request_ended(), col(Dispatch.thread_id).not_in(busy))

    def find(session: Session, after: str) -> Page:
        query = select(Dispatch.id, Dispatch.issue).where(col(Dispatch.id) > after, col(Dispatch.created_at) <= what.at)
        rows = session.exec(query.order_by(col(Dispatch.id)).limit(PAGE)).all()
        return Page([row[0] for row in rows if theirs(row[1])], rows[-1][0] if len(rows) == PAGE else None)

    def act(session: Session, ids: Sequence[str]) -> int:
        rows = session.exec(select(Dispatch).where(col(Dispatch.id).in_(ids), ended)).all()
        for row in rows:
            row.issue = {name: value for name, value in row.issue.items() if name not in ("title", "body", "author")}
            session.add(row)
        return len(rows)

    return Sweep("dispatch", find, act)


def _pinned(what: Forgotten) -> Sweep:
    """Pins of comments of theirs. The comment stays on GitHub: later steps see it as any other."""

    def find(session: Session, after: str) -> Page:
        query = select(Pin).where(col(Pin.id) > after, col(Pin.pinned_at) <= what.at).order_by(col(Pin.id)).limit(PAGE)
        rows = session.exec(query).all()
        due = [row.id for row in rows if (row.comment.get("author") or {}).get("id") == what.id]
        return Page(due, rows[-1].id if len(rows) == PAGE else None)

    return Sweep("pin", find, deleting("pin"))


def _logins(what: Forgotten) -> list[Sweep]:
    """Their login, where it stands in a column of its own."""
    ended = request_ended()
    name = what.name.lower()
    named = [
        ("commentversion", "author", col(CommentVersion.seen_at) <= what.at),
        ("dispatch", "actor", and_(col(Dispatch.created_at) <= what.at, ended)),
        ("pin", "pinned_by", col(Pin.pinned_at) <= what.at),
        ("steer", "by", col(Steer.at) <= what.at),
        # these have no number beside them
        ("run", "cancelled_by", and_(func.lower(col(Run.cancelled_by)) == name, col(Run.ended_at) <= what.at)),
        ("thread", "paused_by", func.lower(col(Thread.paused_by)) == name),
    ]

    def replaced(name: str, column: str, where: Any) -> Sweep:
        found = table(name)
        if (number := LOGINS.get(name, {}).get(column)) is not None:
            where = and_(found.c[number] == what.id, where)

        def act(session: Session, ids: Sequence[str]) -> int:
            named = update(found).where(found.c.id.in_(ids), where).values({column: FORGOTTEN})
            return session.connection().execute(named).rowcount

        return Sweep(name, paged(name, where, found.c[column] != FORGOTTEN), act)

    return [replaced(*one) for one in named]
