"""Forgetting a repository or a person: whom that means, what it comes to, and what holds until all of it has gone.

What was there when it was asked for goes; what comes later is new. Runs under way are called off (a repository's) or
let end (a person's), and what is theirs goes then: until that a landmark holds what is to be forgotten, so that
whoever keeps the bot's house finishes it. Every part may be done again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement
from sqlmodel import Session, SQLModel, col, func, or_, select

from bot.store.database import ring
from bot.store.purging import BELL
from bot.store.tables import (
    CommentVersion,
    Delivery,
    Dispatch,
    Landmark,
    Outbox,
    Pin,
    Run,
    Schedule,
    Snapshot,
    Spend,
    Steer,
    Thread,
)

#: what stands where a login stood: no login has parentheses
FORGOTTEN = "(forgotten)"
_PREFIX = "forget "


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What is to be forgotten: by GitHub's number, with the name that it was found by, as it was `at` that time."""

    kind: Literal["repository", "user"]
    id: int
    name: str
    at: datetime

    @property
    def landmark(self) -> str:
        return f"{_PREFIX}{self.kind} {self.id}"


def repositories(session: Session, name: str) -> dict[int, str]:
    """Repositories that are meant by `owner/name` or by a number, with their names as last seen."""
    if name.isdigit():
        which: ColumnElement[bool] = col(Thread.repository_id) == int(name)
    else:
        owner, _, short = name.partition("/")
        which = (func.lower(col(Thread.owner)) == owner.lower()) & (func.lower(col(Thread.name)) == short.lower())
    rows = session.exec(select(Thread.repository_id, Thread.owner, Thread.name).where(which).distinct()).all()
    found = {number: f"{owner}/{short}" for number, owner, short in rows}
    for row in session.exec(select(Schedule)):
        called = f"{row.repository['owner']['login']}/{row.repository['name']}"
        if name in (str(row.repository_id), called):
            found.setdefault(row.repository_id, called)
    if not found and name.isdigit() and _any_of(session, int(name)):
        found[int(name)] = name
    return found


def _any_of(session: Session, repository_id: int) -> bool:
    """Whether anything is kept of a repository that has no thread here."""
    kept = select(Delivery.id).where(Delivery.repository_id == repository_id)
    return session.exec(kept.limit(1)).first() is not None


def users(session: Session, name: str) -> dict[int, str]:
    """People who are meant by a login or by a number, with the login as last seen."""
    found: dict[int, str] = {}
    for number, login in (
        (CommentVersion.author_id, CommentVersion.author),
        (Dispatch.actor_id, Dispatch.actor),
        (Steer.by_id, Steer.by),
        (Pin.pinned_by_id, Pin.pinned_by),
    ):
        which = col(number) == int(name) if name.isdigit() else func.lower(col(login)) == name.lower()
        for one, called in session.exec(select(number, login).where(which).distinct()).all():
            found[one] = called if called != FORGOTTEN else found.get(one, name)
    return found


def ask(session: Session, what: Forgotten) -> None:
    """Have it forgotten: from here on it holds until it is done."""
    session.merge(Landmark(name=what.landmark, at=what.at, detail={"name": what.name}))
    ring(session, BELL)


def asked(session: Session) -> list[Forgotten]:
    """What is still to be forgotten."""
    rows = session.exec(select(Landmark).where(col(Landmark.name).startswith(_PREFIX)).order_by(col(Landmark.name)))
    found = []
    for row in rows:
        _, kind, number = row.name.split()
        found.append(Forgotten("user" if kind == "user" else "repository", int(number), row.detail["name"], row.at))
    return found


def settle(session: Session, what: Forgotten) -> None:
    """All of it has gone; it may have been asked for again since."""
    row = session.get(Landmark, what.landmark)
    if row is not None and row.at <= what.at:
        session.delete(row)


def counts(session: Session, what: Forgotten) -> Mapping[str, int]:
    """What there is of it, by what people call it; 0 is left out."""
    asked_for = _of_repository if what.kind == "repository" else _of_user
    return {name: count for name, count in asked_for(session, what.id).items() if count}


def _number(session: Session, model: type[SQLModel], *where: Any) -> int:
    return session.exec(select(func.count()).select_from(model).where(*where)).one()


def _of_repository(session: Session, number: int) -> dict[str, int]:
    threads = select(Thread.id).where(Thread.repository_id == number)
    runs = select(Run.id).where(col(Run.thread_id).in_(threads))
    return {
        "threads": _number(session, Thread, Thread.repository_id == number),
        "texts of comments": _number(session, CommentVersion, col(CommentVersion.thread_id).in_(threads)),
        "pins": _number(session, Pin, col(Pin.thread_id).in_(threads)),
        "requests": _number(session, Dispatch, col(Dispatch.thread_id).in_(threads)),
        "runs with all that they made": _number(session, Run, col(Run.thread_id).in_(threads)),
        "words to runs": _number(session, Steer, col(Steer.run_id).in_(runs)),
        "posts": _number(session, Outbox, col(Outbox.thread_id).in_(threads)),
        "deliveries": _number(session, Delivery, Delivery.repository_id == number, func.length(col(Delivery.body)) > 0),
        "configurations": _number(session, Snapshot, Snapshot.repository_id == number),
        "schedules": _number(session, Schedule, Schedule.repository_id == number),
    }


def _of_user(session: Session, number: int) -> dict[str, int]:
    words = or_(col(CommentVersion.body) != "", col(CommentVersion.author) != FORGOTTEN)
    return {
        "texts of comments": _number(session, CommentVersion, CommentVersion.author_id == number, words),
        "requests": _number(session, Dispatch, Dispatch.actor_id == number, Dispatch.actor != FORGOTTEN),
        "words to runs": _number(session, Steer, Steer.by_id == number, Steer.by != FORGOTTEN),
        "pins made": _number(session, Pin, Pin.pinned_by_id == number, Pin.pinned_by != FORGOTTEN),
    }


def spent(session: Session, what: Forgotten) -> int:
    """Rows of `spend` that stay, by numbers alone."""
    column = Spend.repository_id if what.kind == "repository" else Spend.actor_id
    return _number(session, Spend, col(column) == what.id)
