"""Taking the bytes of ended runs: prompts, results, texts. What stays are identities, states, times and costs.

A run is marked first (`Run.purged_at`), so that nobody reads it half purged or takes it over, and its rows follow in
small transactions. Which runs are marked and not through is noted with the mark: a process that ends goes on with them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, update
from sqlmodel import Session, and_, col, not_, or_, select

from bot.model.state import DeliveryState, DispatchState, RunState
from bot.store import posts, threads
from bot.store.database import ring
from bot.store.kind import Goes
from bot.store.outbox import LASTING
from bot.store.sweep import Sweep, listed, purge, purging
from bot.store.tables import Attempt, Blob, CommentVersion, Delivery, Dispatch, Landmark, Outbox, Run, Steer, Thread

#: the landmark of runs that are marked and not through
UNDER_WAY = "purging"
#: runs that are marked in one transaction
BATCH = 50
#: rung where there is something to purge at once
BELL = "upkeep"
OPEN = [state for state in RunState if not state.ended]
#: what the manifest says of comments that a prompt has
_SEEN = frozenset({"included", "pinned", "request", "thread"})
#: a run's rows
_TABLES = ("clone", "value", "artifact", "export", "steer", "gate", "frame", "attempt")


def due(session: Session, before: datetime) -> list[str]:
    """Runs that ended before then and have their bytes, oldest first, at most a batch.

    Not those that have something left to say, nor one that a run under way tries again.
    """
    again = select(Run.retry_of).where(col(Run.state).in_(OPEN), col(Run.retry_of).is_not(None))
    return list(
        session.exec(
            select(Run.id)
            .where(
                col(Run.purged_at).is_(None),
                col(Run.ended_at) < before,
                col(Run.id).not_in(speaking()),
                col(Run.id).not_in(again),
            )
            .order_by(col(Run.ended_at))
            .limit(BATCH)
        )
    )


def speaking() -> Any:
    """Runs that have something left to say, as a query of their ids."""
    return select(Outbox.run_id).where(col(Outbox.state).in_(posts.OPEN), col(Outbox.run_id).is_not(None))


def mark(session: Session, run_ids: Sequence[str], now: datetime) -> list[str]:
    """Mark those of the runs that have ended; from here on their bytes are gone for whoever asks."""
    ended = list(session.exec(select(Run.id).where(col(Run.id).in_(run_ids), col(Run.state).not_in(OPEN))))
    session.execute(update(Run).where(col(Run.id).in_(ended)).values(purged_at=now, purge_at=None))
    session.merge(Landmark(name=UNDER_WAY, at=now, detail={"runs": [*marked(session), *ended]}))
    return ended


def marked(session: Session) -> list[str]:
    """Runs that are marked and not through."""
    landmark = session.get(Landmark, UNDER_WAY)
    return list(landmark.detail["runs"]) if landmark is not None else []


def through(session: Session, run_ids: Collection[str], now: datetime) -> None:
    """These are through."""
    left = [one for one in marked(session) if one not in run_ids]
    session.merge(Landmark(name=UNDER_WAY, at=now, detail={"runs": left}))


def bytes_of(run_ids: Sequence[str]) -> list[Sweep]:
    """What takes the bytes of these runs. What was asked for stays: its words go by an age of their own."""
    sweeps = [Sweep(name, listed(name, "run_id", run_ids), purging(name, Goes.RUN)) for name in _TABLES]
    said = said_and_done()
    sweeps.append(Sweep("outbox", listed("outbox", "run_id", run_ids, said), purging("outbox", Goes.SAID, said)))
    sweeps.append(Sweep("run", listed("run", "id", run_ids), purging("run", Goes.RUN)))
    return sweeps


def said_and_done() -> ColumnElement[bool]:
    """Whether a post is settled and has words: a reaction has none, and is taken away by its row."""
    return and_(col(Outbox.state).not_in(posts.OPEN), col(Outbox.action) != "reaction")


def request_ended() -> ColumnElement[bool]:
    """Whether what was asked for has come to its end, or was refused."""
    return col(Dispatch.state).not_in([DispatchState.QUEUED, DispatchState.STARTED])


# -- deleted comments --------------------------------------------------------------------------------------------------


def comment_deleted(
    session: Session, thread: Thread, comment_id: int, kind: str, since: datetime, now: datetime
) -> None:
    """A comment that was there since then was deleted: look at what its thread's runs made of it, those under way too.

    What the bot itself said in the thread since and keeps up to date no more may quote it, and goes here.
    """
    if kind == "comment":
        ended = select(Run.id).where(Run.thread_id == thread.id, col(Run.state).not_in(OPEN))
        session.execute(
            update(Steer).where(col(Steer.comment_id) == comment_id, col(Steer.run_id).in_(ended)).values(text="")
        )
    flag(session, thread.id, now)
    session.flush()
    quotes = select(Outbox.id).where(
        Outbox.thread_id == thread.id,
        said_and_done(),
        Outbox.action == "comment",
        or_(
            and_(col(Outbox.run_id).is_(None), Outbox.purpose != "index", col(Outbox.created_at) >= since),
            and_(_ours(kind), Outbox.posted_id == comment_id, col(Outbox.purpose).not_in(LASTING)),
        ),
    )
    purge(session, "outbox", Goes.SAID, list(session.exec(quotes)))
    _forget_said(session, thread, since)


def _forget_said(session: Session, thread: Thread, since: datetime) -> None:
    """What GitHub told us of our own comments since then may quote it, too; where it is needed it is read again."""
    own = and_(
        col(CommentVersion.thread_id) == thread.id,
        col(CommentVersion.slot).is_not(None),
        col(CommentVersion.created_at) >= since,
        col(CommentVersion.deleted_at).is_(None),
    )
    ids = session.exec(select(CommentVersion.comment_id).where(own).distinct()).all()
    told = select(Delivery.id).where(
        Delivery.repository_id == thread.repository_id,
        col(Delivery.comment_id).in_(ids),
        col(Delivery.state) != DeliveryState.NEW,
    )
    purge(session, "delivery", Goes.BODY, list(session.exec(told)))
    session.execute(delete(CommentVersion).where(own))


def _ours(kind: str) -> ColumnElement[bool]:
    """Comments of ours of that sort."""
    in_review = col(Outbox.target_id).is_not(None)
    return and_(col(Outbox.action) == "comment", in_review if kind == "review_comment" else not_(in_review))


def flag(session: Session, thread_id: str, now: datetime) -> None:
    """The runs of a thread that have their bytes are to be looked at."""
    session.execute(
        update(Run)
        .where(col(Run.thread_id) == thread_id, col(Run.purged_at).is_(None), col(Run.purge_at).is_(None))
        .values(purge_at=now)
    )
    ring(session, BELL)


def flagged(session: Session) -> tuple[list[str], bool]:
    """Ended runs that are to be looked at, and whether there are others, which have not ended."""
    rows = session.exec(select(Run.id, Run.state).where(col(Run.purge_at).is_not(None)).order_by(col(Run.id))).all()
    saying = set(session.exec(speaking().where(col(Outbox.run_id).in_([row[0] for row in rows]))))
    ready = [run_id for run_id, state in rows if RunState(state).ended and run_id not in saying]
    return ready[:BATCH], len(ready) < len(rows)


def saw(session: Session, run_id: str) -> bool:
    """Whether an ended run may have read what was deleted since in its thread.

    It has if a prompt of it shows a comment that was deleted, if the thread as it read it has one, if one asked for it
    or was said to it, or if it said it itself. Where it did not read all of the thread, an agent may have read any
    older comment by a tool.
    """
    run = session.get_one(Run, run_id)
    thread = session.get_one(Thread, run.thread_id)
    if thread.gone == "deleted":
        return True
    gone = {
        (kind, comment_id): created_at
        for kind, comment_id, created_at in session.exec(
            select(CommentVersion.kind, CommentVersion.comment_id, CommentVersion.created_at).where(
                CommentVersion.thread_id == thread.id, col(CommentVersion.deleted_at) >= run.queued_at
            )
        )
    }
    dispatch = session.get_one(Dispatch, run.dispatch_id)
    if _asked_by(dispatch) & gone.keys():
        return True
    steered = session.exec(select(Steer.comment_id).where(Steer.run_id == run_id)).all()
    if any(("comment", one) in gone for one in steered):
        return True
    said = select(Outbox.target_id, Outbox.posted_id).where(Outbox.run_id == run_id, Outbox.action == "comment")
    for target, posted in session.exec(said):
        if ("comment" if target is None else "review_comment", posted) in gone:
            return True
    for manifest in session.exec(select(Attempt.manifest).where(Attempt.run_id == run_id)):
        shown = (manifest or {}).get("comments", ())
        if any((one["kind"], one["id"]) in gone for one in shown if one["fate"] in _SEEN):
            return True
    if run.thread_blob is None or (blob := session.get(Blob, run.thread_blob)) is None:
        return False
    read = json.loads(blob.data)
    messages = [*read["messages"], *(pin["message"] for pin in read["pins"])]
    if any((one["kind"], one["id"]) in gone for one in messages if one["out"] != "deleted"):
        return True
    return not read["complete"] and any(at <= run.queued_at for at in gone.values())


def _asked_by(dispatch: Dispatch) -> set[tuple[str, int]]:
    """The comments that a request came from."""
    found = {(dispatch.target_kind, dispatch.comment_id), (dispatch.target_kind, dispatch.trigger.get("comment_id"))}
    found.add(("review", dispatch.trigger.get("review_id")))
    return {(kind, comment_id) for kind, comment_id in found if comment_id is not None}


def unflag(session: Session, run_ids: Sequence[str]) -> None:
    """They saw nothing of what was deleted."""
    session.execute(update(Run).where(col(Run.id).in_(run_ids)).values(purge_at=None))


def words_at_end(session: Session, run_id: str) -> None:
    """The words of a request whose comment was deleted while its run was under way go with its end."""
    dispatch = session.get_one(Dispatch, session.get_one(Run, run_id).dispatch_id)
    ended = dispatch.state not in (DispatchState.QUEUED, DispatchState.STARTED)
    if ended and any(
        threads.is_deleted(session, dispatch.thread_id, comment_id, kind)  # type: ignore[arg-type]  # rows hold `Kind`
        for kind, comment_id in _asked_by(dispatch)
    ):
        purge(session, "dispatch", Goes.REQUEST, [dispatch.id])


def has_words(dispatch: Dispatch) -> bool:
    """Whether a request still has the words that it was made in: of every cause some are kept, if only none."""
    return "text" in dispatch.trigger
