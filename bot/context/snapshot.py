"""A thread as it stood at an anchor: what every step of a run sees of it, also after a crash."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from bot.model.role import Role
from bot.model.thread import Account, Comment, Issue, ReviewPlace

Kind = Literal["comment", "review", "review_comment"]
#: what tells comments of one thread apart: GitHub counts comments, reviews and review comments each for themselves
Ref = tuple[Kind, int]
#: of one second, a review stands before its comments
_RANK = {"review": 0, "review_comment": 1, "comment": 2}


def ref(comment: Comment) -> Ref:
    """The comment's own."""
    return comment.kind, comment.id


def order(comment: Comment | Message) -> tuple[datetime, int, int]:
    """The place in a thread: by creation time, then id."""
    return comment.created_at, _RANK[comment.kind], comment.id


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where the window ends: the triggering comment (None: the issue's body, or an event such as a label).

    `at` is the event's time on GitHub's clock. `arrived` is when the delivery arrived on ours: texts are shown as they
    stood then. Without it `at` serves. `kind` is what `comment_id` names; a review is triggering with all of its
    comments. `root_id` is the review comment that begins the thread which the request is about.
    """

    comment_id: int | None
    at: datetime
    arrived: datetime | None = None
    kind: Kind = "comment"
    root_id: int | None = None

    @property
    def ref(self) -> Ref | None:
        """The triggering comment's."""
        return None if self.comment_id is None else (self.kind, self.comment_id)

    @property
    def cut(self) -> datetime:
        """The moment whose texts count."""
        return max(self.at, self.arrived or self.at)


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """One text of one comment as the store holds it. `comment_id` 0 is the issue's body, `title` its title then.

    `purpose` is for our own comments what `is_ours` says of them, `slot` the slot they fill; None for everybody else's.
    """

    comment_id: int
    author: Account
    role: Role | None
    body: str
    created_at: datetime
    updated_at: datetime
    seen_at: datetime
    deleted_at: datetime | None = None
    minimized: bool = False
    url: str = ""
    purpose: str | None = None
    slot: str | None = None
    title: str = ""
    kind: Kind = "comment"
    place: ReviewPlace | None = None

    @property
    def ref(self) -> Ref:
        return self.kind, self.comment_id


@dataclass(frozen=True, slots=True)
class PinnedComment:
    """A pin: native (GitHub's own) or ours. `role` is the pinner's when the pin was made."""

    comment: Comment
    pinned_by: str
    pinned_at: datetime
    native: bool = False
    role: Role | None = None

    @property
    def edited(self) -> bool:
        """Whether the comment's text changed after it was pinned."""
        return self.comment.updated_at > max(self.pinned_at, self.comment.created_at)


@dataclass(frozen=True, slots=True)
class Message:
    """A comment of the snapshot. `text` is sanitised, and empty where it can never be shown.

    `out` says why it cannot be shown, whatever a step's policy (`minimised`, `deleted`, `empty`, `command`,
    `own status`, `beyond window`); `request` is the triggering comment itself; empty for a mentionable comment.
    """

    id: int
    author: Account
    created_at: datetime
    updated_at: datetime
    bytes: int
    text: str = ""
    removed: tuple[str, ...] = ()
    url: str = ""
    #: what a comment of ours is for (`result`, `status`, …)
    purpose: str | None = None
    #: the same for all parts of one split result
    group: str = ""
    out: str = ""
    note: str = ""
    kind: Kind = "comment"
    place: ReviewPlace | None = None

    @classmethod
    def of(cls, comment: Comment, out: str = "") -> Message:
        """A comment before anything is known of it but what GitHub tells."""
        return cls(
            id=comment.id,
            author=comment.author,
            created_at=comment.created_at,
            updated_at=comment.updated_at,
            bytes=len(comment.body.encode("utf-8", "surrogatepass")),
            url=comment.url,
            out=out,
            kind=comment.kind,
            place=comment.place,
        )

    @property
    def ref(self) -> Ref:
        return self.kind, self.id

    @property
    def by_other_bot(self) -> bool:
        """Whether a program wrote it that is not us."""
        return self.author.is_bot and self.purpose is None

    @property
    def unit(self) -> str:
        """What counts once in the window."""
        return self.group or (str(self.id) if self.kind == "comment" else f"{self.kind} {self.id}")

    @property
    def label(self) -> str:
        """What it is, for a prompt: `review comment 42 by ana`."""
        return f"{self.kind.replace('_', ' ')} {self.id} by {self.author.login}"

    @property
    def facts(self) -> list[str]:
        """When it was written, where in the changes of a pull request, and what there is to note."""
        at = [f"at {self.place.where}"] if self.place is not None else []
        return [f"{self.created_at:%Y-%m-%d %H:%M} UTC", *at, *([self.note] if self.note else [])]

    def stands_in(self, root_id: int | None) -> bool:
        """Whether it is part of the review thread that this comment began."""
        return root_id is not None and self.place is not None and self.place.root_id == root_id


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned comment of the snapshot, whoever pinned it."""

    message: Message
    pinned_by: str
    pinned_at: datetime
    native: bool
    role: Role | None = None

    @property
    def vouched(self) -> bool:
        """Whether somebody with write access stands for it. GitHub's own pin needs that access."""
        return self.native or (self.role is not None and self.role.at_least(Role.WRITE))


@dataclass(frozen=True, slots=True)
class ThreadSnapshot:
    """The whole of it, oldest first. `issue` has its title and body sanitised.

    `complete`: no comment before the anchor is missing. `reads` counts the API calls it took. `place` is where the
    request stands in a pull request's changes, if it does.
    """

    issue: Issue
    issue_removed: tuple[str, ...]
    anchor: Anchor
    window: int
    messages: tuple[Message, ...]
    pins: tuple[Pin, ...]
    notes: tuple[str, ...] = ()
    reads: int = 1
    complete: bool = True
    place: ReviewPlace | None = None

    def to_json(self) -> str:
        """For the store; `from_json` gives an equal snapshot back."""
        return _adapter().dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> ThreadSnapshot:
        """Raises pydantic's ValidationError on anything that `to_json` did not write."""
        return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[ThreadSnapshot]:
    return TypeAdapter(ThreadSnapshot)
