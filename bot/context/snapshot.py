"""A thread as it stood at an anchor: what every step of a run sees of it, also after a crash."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache

from pydantic import TypeAdapter

from bot.model.role import Role
from bot.model.thread import Account, Comment, Issue


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where the window ends: the triggering comment (None: the issue's body, or an event such as a label).

    `at` is the event's time on GitHub's clock. `arrived` is when the delivery arrived on ours: texts are shown as they
    stood then. Without it `at` serves.
    """

    comment_id: int | None
    at: datetime
    arrived: datetime | None = None

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

    @property
    def unit(self) -> str:
        """What counts once in the window."""
        return self.group or str(self.id)


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

    `complete`: no comment before the anchor is missing. `reads` counts the API calls it took.
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
