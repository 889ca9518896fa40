"""What the templates show, computed from the world."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from markupsafe import Markup

from bot.demo.markdown import render
from bot.demo.records import CONTENTS, App, Comment, Issue, Push, Reaction, Repository, User
from bot.demo.shapes.common import stamp
from bot.demo.world import World
from bot.model.role import Role

CONFIGURATION = ".github/bot.yml"


class Saw(Protocol):
    """What the page learns from the bot's own records; comments are named by their ids."""

    async def __call__(self, comment_id: int, /) -> Mapping[str, Any] | None:
        """What the bot saw when it wrote a comment; None for a comment without a prompt.

        `run`, `step`, `model`, `blocks` (`kind`, `label`, `trust`, `tokens`, `text`), `comments` (`author`, `role`,
        `fate`, `bytes`, `excerpt`), `inputs`.
        """
        ...

    async def written(self, comments: Sequence[Comment], /) -> AbstractSet[int]:
        """Those of the comments for which there is something to see."""
        ...

    def silence(self, comment_id: int, /) -> str:
        """Why the bot did nothing about a comment that asked it to; empty where there is nothing to tell."""
        ...


@dataclass(frozen=True, slots=True)
class Mark:
    """One sort of reaction to one comment."""

    content: str
    people: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One box of the thread: the issue's own text (`id` 0) or a comment."""

    id: int
    author: User
    role: Role | None
    html: Markup
    body: str
    at: datetime
    edited: bool
    marks: tuple[Mark, ...]
    pinned_by: User | None = None
    hidden: str | None = None
    is_bot: bool = False
    sees: bool = False
    silence: str = ""


class View:
    """Reads the world for the templates."""

    def __init__(self, world: World, saw: Saw | None, personas: tuple[str, ...]) -> None:
        self.world = world
        self.saw = saw
        self._personas = personas

    def personas(self) -> list[User]:
        """Who the page may write as."""
        if self._personas:
            return [self.world.user(login) for login in self._personas]
        return [who for who in self.world.users.values() if who.type == "User"]

    def cast(self, repo: Repository) -> list[tuple[User, Role]]:
        """The personas with their roles in a repository."""
        return [(who, self.world.role(repo, who)) for who in self.personas()]

    def app(self, repo: Repository) -> App | None:
        """The App that is installed on a repository."""
        for row in self.world.installations.values():
            if row.holds(repo):
                return row.app
        return None

    def thread_path(self, row: Issue) -> str:
        """Address of a thread, below this site."""
        return f"/{row.repository.full_name}/issues/{row.number}"

    async def entries(self, row: Issue) -> list[Entry | Push]:
        """The thread from top to bottom, with the commits that were made since it was opened."""
        first = Entry(
            0, row.author, self._role(row.repository, row.author), _html(row.body or "*No description provided.*"),
            row.body or "", row.created_at, False, _marks(row.reactions), is_bot=row.author.type == "Bot",
        )  # fmt: skip
        written: AbstractSet[int] = await self.saw.written(row.comments) if self.saw else frozenset()
        pushes = row.repository.pushes[row.pushes_before :]
        rest: list[Comment | Push] = [*row.comments, *pushes]
        # a commit with the same number comes behind that comment: sorting keeps the order of equals
        rest.sort(key=lambda each: each.after if isinstance(each, Push) else each.id)
        return [first, *(each if isinstance(each, Push) else self.entry(each, written) for each in rest)]

    def entry(self, row: Comment, written: AbstractSet[int] = frozenset()) -> Entry:
        """One comment."""
        return Entry(
            row.id, row.author, self._role(row.issue.repository, row.author), _html(row.body), row.body,
            row.created_at, row.updated_at > row.created_at, _marks(row.reactions), row.pinned_by, row.minimized,
            row.author.type == "Bot", row.id in written, self.saw.silence(row.id) if self.saw else "",
        )  # fmt: skip

    def _role(self, repo: Repository, who: User) -> Role | None:
        return None if who.type == "Bot" else self.world.role(repo, who)

    async def files(self, repo: Repository) -> list[str]:
        """Paths of the default branch, the configuration first even where it does not exist yet."""
        tree = await asyncio.to_thread(lambda: repo.git.tree(repo.default_branch, recursive=True))
        paths = [entry.path for entry in tree or () if entry.type == "blob"]
        return [CONFIGURATION, *(path for path in paths if path != CONFIGURATION)]

    async def text(self, repo: Repository, path: str) -> str:
        """A file's content on the default branch; empty where there is none."""

        def read() -> bytes:
            for entry in repo.git.tree(repo.default_branch, recursive=True) or ():
                if entry.path == path and entry.type == "blob":
                    return repo.git.blob(entry.sha) or b""
            return b""

        return (await asyncio.to_thread(read)).decode("utf-8", "replace")


def _html(body: str) -> Markup:
    # the renderer writes only fixed tags and escaped text
    return Markup(render(body))  # noqa: S704


def _marks(rows: list[Reaction]) -> tuple[Mark, ...]:
    out: list[Mark] = []
    for content in CONTENTS:
        people = tuple(row.user.login for row in rows if row.content == content)
        if people:
            out.append(Mark(content, people))
    return tuple(out)


def moment(at: datetime) -> str:
    """A time for the attribute `datetime`."""
    return stamp(at)


def calendar(at: datetime) -> str:
    """The same for people without scripts."""
    return f"{at.day} {at:%b %Y, %H:%M} UTC"
