"""The sweeps that forget a person: every text of theirs, and their login wherever rows name it beside their number.

Their number stays: with what was spent, and so that limits and refusals hold. A run that read a text of theirs loses
its bytes, whoever asked for it. What is under way is let end, and goes then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, update
from sqlmodel import Session, and_, col, exists, func, not_, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from bot.model.state import DeliveryState, DispatchState
from bot.store import purging
from bot.store.forgetting import FORGOTTEN, Forgotten
from bot.store.kept import LOGINS, table
from bot.store.kind import Goes
from bot.store.purging import OPEN, said_and_done
from bot.store.sweep import PAGE, Page, Sweep, deleting, paged
from bot.store.sweep import purging as takes
from bot.store.tables import Attempt, Blob, CommentVersion, Delivery, Dispatch, Gate, Outbox, Pin, Run, Steer, Thread

#: runs that one read looks at: each may have read a long thread
_LOOKED_AT = 50


def runs(session: Session, what: Forgotten, after: str) -> Page:
    """Ended runs behind an id that have their bytes and read a text of theirs, or were asked for by them."""
    query = select(Run).where(
        col(Run.id) > after,
        col(Run.queued_at) <= what.at,
        col(Run.purged_at).is_(None),
        col(Run.state).not_in(OPEN),
    )
    found = session.exec(query.order_by(col(Run.id)).limit(_LOOKED_AT)).all()
    due = [run.id for run in found if _knows(session, run, what)]
    return Page(due, found[-1].id if len(found) == _LOOKED_AT else None)


def left(session: Session, what: Forgotten) -> int:
    """Runs under way that may read a text of theirs."""
    there = select(CommentVersion.thread_id).where(CommentVersion.author_id == what.id)
    open_runs = select(Run, Dispatch).join(Dispatch, col(Dispatch.id) == col(Run.dispatch_id))
    rows = session.exec(
        open_runs.where(
            or_(col(Run.state).in_(OPEN), col(Run.id).in_(purging.speaking())),
            col(Run.queued_at) <= what.at,
            col(Run.purged_at).is_(None),
            or_(col(Dispatch.actor_id) == what.id, col(Run.thread_id).in_(there)),
        )
    ).all()
    return sum(_knows(session, run, what) for run, _ in rows)


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


def sweeps(what: Forgotten) -> list[Sweep]:
    """What takes the rest: comments, requests, words, pins, deliveries, quotes in posts; and last the login."""
    mine = col(CommentVersion.author_id) == what.id
    versions = and_(mine, col(CommentVersion.seen_at) <= what.at, col(CommentVersion.deleted_at).is_(None))
    ended = col(Dispatch.state).not_in([DispatchState.QUEUED, DispatchState.STARTED])
    requests = and_(col(Dispatch.actor_id) == what.id, col(Dispatch.created_at) <= what.at, ended)
    over: ColumnElement[bool] = not_(
        exists(select(Run.id).where(col(Run.id) == col(Steer.run_id), col(Run.state).in_(OPEN)))
    )
    words = and_(col(Steer.by_id) == what.id, col(Steer.at) <= what.at, over)
    there = select(CommentVersion.thread_id).where(mine)
    quotes = and_(
        said_and_done(),
        col(Outbox.run_id).is_(None),
        col(Outbox.created_at) <= what.at,
        or_(
            func.lower(col(Outbox.body)).contains(what.name.lower(), autoescape=True),
            col(Outbox.thread_id).in_(there) & (col(Outbox.purpose) != "index"),
        ),
    )
    return [
        Sweep("outbox", paged("outbox", quotes, col(Outbox.body) != ""), takes("outbox", Goes.SAID, quotes)),
        _deliveries(what),
        Sweep("dispatch", paged("dispatch", requests), takes("dispatch", Goes.REQUEST, requests)),
        _issues(what),
        Sweep("steer", paged("steer", words), takes("steer", Goes.RUN, words)),
        _pinned(what),
        Sweep("commentversion", paged("commentversion", versions), deleting("commentversion", versions)),
        *_logins(what),
    ]


def _deliveries(what: Forgotten) -> Sweep:
    """Deliveries that name them by their number, as sender, author or anything else."""
    number = re.compile(rb'"id":\s*%d\b' % what.id)
    began = exists(
        select(Run.id)
        .join(Dispatch, col(Dispatch.id) == col(Run.dispatch_id))
        .where(col(Dispatch.delivery_id) == col(Delivery.id), col(Run.state).in_(OPEN))
    )
    settled = and_(col(Delivery.received_at) <= what.at, col(Delivery.state) != DeliveryState.NEW, not_(began))

    def find(session: Session, after: str) -> Page:
        query = select(Delivery.id, Delivery.body).where(
            col(Delivery.id) > after, settled, func.length(col(Delivery.body)) > 0
        )
        rows = session.exec(query.order_by(col(Delivery.id)).limit(PAGE // 10)).all()
        due = [row_id for row_id, body in rows if number.search(body)]
        return Page(due, rows[-1][0] if len(rows) == PAGE // 10 else None)

    return Sweep("delivery", find, takes("delivery", Goes.BODY, settled))


def _issues(what: Forgotten) -> Sweep:
    """What others asked for on an issue of theirs keeps the request and loses the issue's text."""

    def theirs(issue: Any) -> bool:
        return isinstance(issue, dict) and str(issue.get("author", "")).casefold() == what.name.casefold()

    ended = col(Dispatch.state).not_in([DispatchState.QUEUED, DispatchState.STARTED])

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
    ended = col(Dispatch.state).not_in([DispatchState.QUEUED, DispatchState.STARTED])
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
