"""What the templates show, computed from the world."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from bot.demo.known import Known
from bot.demo.page import reviewed
from bot.demo.page.entry import Entry, html_of, marks_of
from bot.demo.page.reviewed import Checked, Reviewed
from bot.demo.records import App, Comment, Issue, Pull, Push, Repository, ReviewComment, User
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

    async def knows(self, issue: Issue, /) -> Known:
        """The bot's pins and questions in a thread, and what can be asked for now."""
        ...

    def silence(self, comment_id: int, /) -> str:
        """Why the bot did nothing about a comment that asked it to; empty where there is nothing to tell."""
        ...


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
        return f"/{row.repository.full_name}/{'issues' if row.pull is None else 'pull'}/{row.number}"

    async def known(self, row: Issue) -> Known:
        """What the bot knows of a thread."""
        return await self.saw.knows(row) if self.saw else Known()

    async def entries(self, row: Issue, known: Known | None = None) -> list[Entry | Push | Reviewed]:
        """The thread from top to bottom, with its reviews, and the commits that were made since it was opened."""
        first = Entry(
            0, row.author, self._role(row.repository, row.author), html_of(row.body or "*No description provided.*"),
            row.body or "", row.created_at, row.edited_by, marks_of(row.reactions), is_bot=row.author.type == "Bot",
        )  # fmt: skip
        written: AbstractSet[int] = await self.saw.written(row.comments) if self.saw else frozenset()
        pushes = row.repository.pushes[row.pushes_before :]
        rest: list[Comment | Push | Reviewed] = [*row.comments, *pushes]
        if row.pull is not None:
            rest += reviewed.reviews(row.pull, partial(self._role, row.repository), self._message)
        rest.sort(key=_place)
        return [first, *(self.entry(each, written, known) if isinstance(each, Comment) else each for each in rest)]

    def checks(self, pull: Pull) -> list[Checked]:
        """The newest checks of a pull request's head."""
        return reviewed.checked(self.world.checks(pull.repository, pull.head_sha))

    def entry(self, row: Comment, written: AbstractSet[int] = frozenset(), known: Known | None = None) -> Entry:
        """One comment."""
        return Entry(
            row.id, row.author, self._role(row.issue.repository, row.author), html_of(row.body), row.body,
            row.created_at, row.edited_by, marks_of(row.reactions), row.pinned_by, row.minimized,
            row.author.type == "Bot", row.id in written, self.saw.silence(row.id) if self.saw else "",
            known.pins.get(row.id, "") if known else "", known.gates.get(row.id) if known else None,
        )  # fmt: skip

    def _message(self, row: ReviewComment) -> Entry:
        """One message of a review thread."""
        return Entry(
            row.id, row.author, self._role(row.thread.pull.repository, row.author), html_of(row.body), row.body,
            row.created_at, row.edited_by, marks_of(row.reactions),
            is_bot=row.author.type == "Bot",
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


def _place(row: Comment | Push | Reviewed) -> tuple[int, int]:
    """Where it stands: behind the comment that was the newest when it came. Sorting keeps the order of equals."""
    return (row.id, 0) if isinstance(row, Comment) else (row.after, 1)


def moment(at: datetime) -> str:
    """A time for the attribute `datetime`."""
    return stamp(at)


def calendar(at: datetime) -> str:
    """The same for people without scripts."""
    return f"{at.day} {at:%b %Y, %H:%M} UTC"
