"""One box of the thread, as the templates show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from bot.demo.known import Gate
from bot.demo.markdown import render
from bot.demo.records import CONTENTS, Reaction, User
from bot.model.role import Role


@dataclass(frozen=True, slots=True)
class Mark:
    """One sort of reaction to one comment."""

    content: str
    people: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One box of the thread: the issue's own text (`id` 0), a comment, or a message of a review."""

    id: int
    author: User
    role: Role | None
    html: Markup
    body: str
    at: datetime
    edited_by: User | None
    marks: tuple[Mark, ...]
    pinned_by: User | None = None
    hidden: str | None = None
    is_bot: bool = False
    sees: bool = False
    silence: str = ""
    #: who had the bot pin it
    kept_by: str = ""
    gate: Gate | None = None


def html_of(body: str) -> Markup:
    """A text of Markdown as HTML."""
    # the renderer writes only fixed tags and escaped text
    return Markup(render(body))  # noqa: S704


def marks_of(rows: list[Reaction]) -> tuple[Mark, ...]:
    """Reactions by their sort."""
    out: list[Mark] = []
    for content in CONTENTS:
        people = tuple(row.user.login for row in rows if row.content == content)
        if people:
            out.append(Mark(content, people))
    return tuple(out)
