"""What of ours stands on GitHub, and which run said it."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from bot.model.state import OutboxState
from bot.store import posts
from bot.store.prepared import Prepared, one_of
from bot.store.tables import Outbox, Thread
from bot.store.threads import Kind

_REACTING = Prepared(
    select(Outbox.id)
    .where(
        Outbox.run_id == bindparam("run"),
        Outbox.action == "reaction",
        one_of(Outbox.state, posts.OPEN),
    )
    .limit(1)
)
#: every step that sees a thread asks it
_POSTED = Prepared(
    select(Outbox.target_id, Outbox.posted_id, Outbox.purpose).where(
        Outbox.thread_id == bindparam("thread"), Outbox.action == "comment", col(Outbox.posted_id).is_not(None)
    )
)


def any_of_run(session: Session, run_id: str) -> bool:
    """Whether a run has said or done anything on GitHub, reactions aside."""
    query = select(Outbox.id).where(Outbox.run_id == run_id, Outbox.action != "reaction").limit(1)
    return session.exec(query).first() is not None


def reacting(session: Session, run_id: str) -> bool:
    """Whether a run's reaction is still to be put there."""
    return _REACTING.first(session, {"run": run_id}) is not None


def standing(session: Session, thread_id: str, comment_id: int, slot: str | None) -> Outbox | None:
    """The row of a comment of ours: by GitHub's id, else by the slot of its marker where no answer told the id."""
    row = session.exec(
        select(Outbox).where(Outbox.thread_id == thread_id, Outbox.posted_id == comment_id, Outbox.action == "comment")
    ).first()
    if row is None and slot is not None:
        row = session.exec(
            select(Outbox).where(Outbox.slot == slot, Outbox.thread_id == thread_id, col(Outbox.posted_id).is_(None))
        ).first()
    return row


def by_posted(session: Session, thread_id: str) -> dict[tuple[Kind, int], str]:
    """Purposes of our comments on the thread, by what sort of comment each is and GitHub's number of it."""
    rows = _POSTED.all(session, {"thread": thread_id})
    return {("comment" if target is None else "review_comment", posted): purpose for target, posted, purpose in rows}


def run_of(session: Session, comment_id: int) -> str | None:
    """The run that said a comment, by GitHub's comment id; None for what no run said and for comments of others."""
    return session.exec(select(Outbox.run_id).where(Outbox.posted_id == comment_id, Outbox.action == "comment")).first()


def of_run(session: Session, run_id: str, purposes: Collection[str]) -> list[Outbox]:
    """What a run says for these purposes, in the order it was put here."""
    query = select(Outbox).where(Outbox.run_id == run_id, col(Outbox.purpose).in_(purposes)).order_by(col(Outbox.id))
    return list(session.exec(query))


def opened_by(session: Session, repository_id: int, number: int) -> str | None:
    """The newest run whose pull request has this number; None where no run of ours opened or updated it."""
    return session.exec(
        select(Outbox.run_id)
        .join(Thread, col(Thread.id) == col(Outbox.thread_id))
        .where(
            Thread.repository_id == repository_id,
            Outbox.action == "pull_request",
            Outbox.state == OutboxState.POSTED,
            Outbox.posted_id == number,
        )
        .order_by(col(Outbox.id).desc())
        .limit(1)
    ).first()
