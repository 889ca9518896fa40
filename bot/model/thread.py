"""A thread as we know it: repository, issue, comments, people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bot.model.role import Role


@dataclass(frozen=True, slots=True)
class Account:
    """A GitHub account. A null author on GitHub is the account `ghost` with id 0."""

    id: int
    login: str
    type: str = "User"  # GitHub's own words: User, Bot, Organization, Mannequin

    @property
    def is_bot(self) -> bool:
        return self.type == "Bot" or self.login.endswith("[bot]")

    @property
    def is_deleted(self) -> bool:
        """GitHub shows what deleted people did under `ghost`, an account whose number is not 0, or as null."""
        return self.id == GHOST.id or self.login.casefold() == GHOST.login

    @property
    def is_person(self) -> bool:
        """A person who is still there: no program, organisation, or account that an import has made up."""
        return self.type == "User" and not self.is_bot and not self.is_deleted


GHOST = Account(0, "ghost")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, keyed by its numeric id; owner and name may change."""

    id: int
    owner: Account
    name: str
    default_branch: str = "main"
    private: bool = False
    #: read only: nothing can be posted there
    archived: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"


@dataclass(frozen=True, slots=True)
class ReviewPlace:
    """Where a review comment stands.

    `root_id` is the comment that began its thread (its own id where it did), `review_id` the review that it came with.
    `line` is None for a comment on a whole file; where the diff has moved on it is the line at the time. `hunk` is the
    diff as it was, down to that line.
    """

    path: str
    line: int | None
    #: LEFT: the file as it was, RIGHT: as it is
    side: Literal["LEFT", "RIGHT"]
    hunk: str
    root_id: int
    review_id: int | None = None

    @property
    def where(self) -> str:
        """`src/a.py:12`; the file alone for a comment on all of it."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Comment:
    """One message in a thread, its text as GitHub holds it (not sanitised)."""

    id: int
    author: Account
    body: str
    created_at: datetime
    updated_at: datetime
    url: str = ""
    minimized: bool = False
    #: pinned by GitHub's own *Pin comment*
    pinned: bool = False
    #: the author's effective role, None where it was not asked
    role: Role | None = None
    #: written by the App with this id, None for a person
    app_id: int | None = None
    kind: Literal["comment", "review", "review_comment"] = "comment"
    #: of a review comment, None for every other
    place: ReviewPlace | None = None
    #: GitHub's word for what a review says, in capitals: COMMENTED, APPROVED, CHANGES_REQUESTED, DISMISSED
    review_state: str = ""
    #: GitHub's global id, which GraphQL asks for
    node_id: str = ""


@dataclass(frozen=True, slots=True)
class CommentPage:
    """One page of a thread's comments, oldest first; `last` is the number of the last page at this page size."""

    items: tuple[Comment, ...]
    last: int


@dataclass(frozen=True, slots=True)
class Issue:
    """The head of a thread."""

    id: int
    number: int
    title: str
    body: str
    author: Account
    state: str
    url: str
    labels: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    comment_count: int = 0
    is_pull_request: bool = False
    locked: bool = False
    #: GitHub's own pinned comment (`pinned_comment`), where the server has it
    pinned_comment: Comment | None = None
