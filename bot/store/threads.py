"""Threads, every text of their comments, and pins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Literal, cast

from sqlalchemy import Table, bindparam, delete, null, union_all, update
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from bot.model.ident import digest, new_id
from bot.model.thread import Comment, Issue, Repository
from bot.store import objects
from bot.store.insert import insert_or_ignore
from bot.store.objects import Question
from bot.store.prepared import Prepared
from bot.store.tables import CommentVersion, Pin, Thread

Kind = Literal["comment", "review", "review_comment"]

_VERSION: Table = CommentVersion.__table__  # type: ignore[attr-defined]  # SQLModel types no table
#: made once: putting a statement together costs more than running it, and every step that sees a thread runs these
_ALL = sa_select(*_VERSION.c).where(_VERSION.c.thread_id == bindparam("thread"))
#: each half along an index of its own: with an OR, or with the time beside the numbers, the whole thread is walked
_SINCE = union_all(
    _ALL.where(_VERSION.c.comment_id.in_(bindparam("also", expanding=True))),
    _ALL.where(_VERSION.c.created_at >= bindparam("since")),
)
_NEWEST = (
    sa_select(_VERSION.c.created_at)
    .where(_VERSION.c.thread_id == bindparam("thread"), _VERSION.c.created_at <= bindparam("until"))
    .distinct()
    .order_by(_VERSION.c.created_at.desc())
    .limit(bindparam("most"))
)
_NUMBERED = Question(
    Thread,
    which=lambda these: these.where(
        col(Thread.repository_id) == bindparam("repository"), col(Thread.number) == bindparam("number")
    ),
)
_GONE = (
    select(CommentVersion.id)
    .where(
        CommentVersion.thread_id == bindparam("thread"),
        CommentVersion.comment_id == bindparam("comment"),
        col(CommentVersion.deleted_at).is_not(None),
    )
    .limit(1)
)
_DELETED, _DELETED_OF_KIND = Prepared(_GONE), Prepared(_GONE.where(CommentVersion.kind == bindparam("kind")))
_PINS_OF = select(Pin).where(Pin.thread_id == bindparam("thread"), Pin.comment_id == bindparam("comment"))
_PINS = select(Pin).where(Pin.thread_id == bindparam("thread")).order_by(col(Pin.comment_id))


def ensure(
    session: Session, repository: Repository, issue: Issue, installation_id: int, at: datetime | None = None
) -> Thread:
    """The thread's row, made if new, its changing attributes brought up to date.

    `at` is when GitHub saw it alive: if that is later than its end it goes on. An earlier moment that is told late, or
    none, leaves it as it is.
    """
    row = find(session, repository.id, issue.number)
    if row is None:
        row = Thread(
            repository_id=repository.id,
            number=issue.number,
            issue_id=issue.id,
            installation_id=installation_id,
            owner_id=repository.owner.id,
            owner=repository.owner.login,
            name=repository.name,
            default_branch=repository.default_branch,
        )
    now = {
        "installation_id": installation_id,
        "owner": repository.owner.login,
        "name": repository.name,
        "owner_id": repository.owner.id,
        "default_branch": repository.default_branch,
        "private": repository.private,
        "is_pull_request": issue.is_pull_request,
    }
    for name, value in now.items():
        if getattr(row, name) != value:  # what is set to what it is has to be looked at again when the row is kept
            setattr(row, name, value)
    if row.gone and at is not None and (row.gone_at is None or at > row.gone_at):
        row.gone, row.gone_at = "", None
    objects.put(session, row)
    return row


def find(session: Session, repository_id: int, number: int) -> Thread | None:
    found: Thread | None = _NUMBERED.first(session, {"repository": repository_id, "number": number})
    return found


def remember(session: Session, thread_id: str, comment: Comment, seen: datetime, slot: str | None = None) -> None:
    """Keep a comment's text as it stands; the same text of the same moment is kept once."""
    insert_or_ignore(
        session,
        CommentVersion,
        {
            "id": new_id(),
            "thread_id": thread_id,
            "comment_id": comment.id,
            "author_id": comment.author.id,
            "author": comment.author.login,
            "author_type": comment.author.type,
            "role": comment.role,
            "body": comment.body,
            "digest": digest(comment.body),
            "url": comment.url,
            "created_at": comment.created_at,
            "updated_at": comment.updated_at,
            "seen_at": seen,
            "minimized": comment.minimized,
            "app_id": comment.app_id,
            "kind": comment.kind,
            "place": asdict(comment.place) if comment.place is not None else None,
            "slot": slot,
        },
    )


def forget(session: Session, thread_id: str, comment: Comment, when: datetime) -> None:
    """A comment was deleted: its texts are purged at once, the fact stays, also of one never told of; its pins go.

    Its sort tells it from a review or a review comment of the same number: GitHub counts each sort for itself.
    """
    comment_id, kind = comment.id, comment.kind
    known = select(CommentVersion.id).where(
        CommentVersion.thread_id == thread_id, CommentVersion.comment_id == comment_id, CommentVersion.kind == kind
    )
    if session.exec(known.limit(1)).first() is None:
        remember(session, thread_id, replace(comment, body=""), when)
    session.execute(
        update(CommentVersion)
        .where(
            col(CommentVersion.thread_id) == thread_id,
            col(CommentVersion.comment_id) == comment_id,
            col(CommentVersion.kind) == kind,
        )
        .values(**wordless(), deleted_at=when)
    )
    if pinned(session, thread_id, comment_id, kind):
        session.execute(delete(Pin).where(col(Pin.thread_id) == thread_id, col(Pin.comment_id) == comment_id))


def wordless() -> dict[str, Any]:
    """The values of a version that keeps no text: a short one could be found by its digest."""
    return {"body": "", "digest": col(CommentVersion.id), "place": null()}


def is_deleted(session: Session, thread_id: str, comment_id: int, kind: Kind | None = None) -> bool:
    """Whether we were told that a comment was deleted; `kind` where it is known what of that number is meant."""
    values = {"thread": thread_id, "comment": comment_id}
    if kind is None:
        return _DELETED.first(session, values) is not None
    return _DELETED_OF_KIND.first(session, {**values, "kind": kind}) is not None


def versions(
    session: Session, thread_id: str, since: datetime | None = None, also: Collection[int] = ()
) -> Sequence[CommentVersion]:
    """Every version of every comment of the thread, oldest first, as rows that are in no session.

    With `since` only those of comments written then or later, and of those whose numbers are in `also`.
    """
    if since is None:
        found = session.connection().execute(_ALL, {"thread": thread_id})
    else:
        found = session.connection().execute(_SINCE, {"thread": thread_id, "since": since, "also": list(also)})
    # a late comment may be one of those asked for by number
    rows = {row.id: row for row in found}.values()
    # plain rows have the same attributes and cost a fraction: a window needs a hundred of them
    return cast("list[CommentVersion]", sorted(rows, key=lambda row: (row.created_at, row.comment_id, row.id)))


def newest_since(session: Session, thread_id: str, until: datetime, count: int) -> datetime | None:
    """Since when the newest `count` comments up to a moment were written; None where there are no older ones.

    Comments of one second count as one, and every version of a comment too.
    """
    values = {"thread": thread_id, "until": until, "most": count + 1}
    found = list(session.connection().execute(_NEWEST, values).scalars())
    return found[count - 1] if len(found) > count else None


def newest(session: Session, thread_id: str, comment_id: int, kind: Kind = "comment") -> CommentVersion | None:
    """The newest version of a comment (0: of the thread's own text) that we know; None where we know none."""
    return session.exec(
        select(CommentVersion)
        .where(
            CommentVersion.thread_id == thread_id,
            CommentVersion.comment_id == comment_id,
            CommentVersion.kind == kind,
        )
        .order_by(col(CommentVersion.updated_at).desc(), col(CommentVersion.id).desc())
        .limit(1)
    ).first()


def pins(session: Session, thread_id: str) -> list[Pin]:
    """The thread's pins in the order they are numbered for people: by comment, oldest first."""
    return list(session.exec(_PINS, params={"thread": thread_id}))


def pinned(session: Session, thread_id: str, comment_id: int, kind: Kind = "comment") -> bool:
    """Whether a comment of that kind is pinned, in whichever way."""
    rows = session.exec(_PINS_OF, params={"thread": thread_id, "comment": comment_id})
    return any(row.comment.get("kind", "comment") == kind for row in rows)


def pin(
    session: Session,
    thread_id: str,
    comment_id: int,
    comment: dict[str, Any],
    *,
    by_id: int,
    by: str,
    role: str | None,
    when: datetime,
    native: bool = False,
) -> bool:
    """Pin a comment; False if it is pinned in this way already."""
    return insert_or_ignore(
        session,
        Pin,
        {
            "id": new_id(),
            "thread_id": thread_id,
            "comment_id": comment_id,
            "native": native,
            "pinned_by_id": by_id,
            "pinned_by": by,
            "pinned_by_role": role,
            "pinned_at": when,
            "comment": comment,
        },
    )


def refresh_pin(session: Session, thread_id: str, comment_id: int, comment: dict[str, Any]) -> None:
    """A pinned comment was edited: later steps see its current text."""
    if not pinned(session, thread_id, comment_id, comment.get("kind", "comment")):
        return
    session.execute(
        update(Pin).where(col(Pin.thread_id) == thread_id, col(Pin.comment_id) == comment_id).values(comment=comment)
    )


def unpin(session: Session, thread_id: str, comment_id: int, *, native: bool = False, kind: Kind | None = None) -> bool:
    """Take a pin away; False if there is none. `kind` where it is known what of that number is meant."""
    if kind is not None and not pinned(session, thread_id, comment_id, kind):
        return False
    done = session.connection().execute(
        delete(Pin).where(col(Pin.thread_id) == thread_id, col(Pin.comment_id) == comment_id, col(Pin.native) == native)
    )
    return done.rowcount > 0
