"""A thread's comments for the tools of an agent: older ones page by page, and what may be pinned."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from bot.context import (
    Anchor,
    Selection,
    ThreadSnapshot,
    WindowPolicy,
    authors_needed,
    comments_text,
    fence_value,
    select,
)
from bot.context.snapshot import order
from bot.engine.assembly import RoleOf
from bot.errors import NotFound
from bot.github import RepositoryClient
from bot.model.role import Role
from bot.model.thread import Comment, Issue
from bot.steps.tools import CommentPage

#: the most that GitHub gives a page
PER_PAGE = 100

#: the thread before an anchor with a window of so many comments, where about so many stand before it
ReadBefore = Callable[[Anchor, int, int], Awaitable[ThreadSnapshot]]


class ThreadComments:
    """The comments of one thread, for one attempt; see `bot.steps.tools.ThreadAccess`.

    `thread` gives the thread as the prompt has it, `pinned` the ids that the bot keeps pinned; `least` is the role that
    the author of a comment has to have for a tool to pin it.
    """

    def __init__(
        self,
        client: RepositoryClient,
        *,
        number: int,
        thread: Callable[[], Awaitable[ThreadSnapshot]],
        read: ReadBefore,
        policy: WindowPolicy,
        role_of: RoleOf,
        pinned: Callable[[], Awaitable[frozenset[int]]],
        least: Role,
        nonce_key: bytes,
    ) -> None:
        self._client, self._number, self._thread, self._read = client, number, thread, read
        self._policy, self._role_of, self._pinned, self._least = policy, role_of, pinned, least
        self._nonce_key = nonce_key
        self._pages: dict[int, tuple[Comment, ...]] = {}

    async def page(self, before: int | None, count: int) -> CommentPage:
        """The newest `count` comments before `before`, by the rules of the prompt's own window."""
        shown = await self._thread()
        anchor = shown.anchor
        if before is None:
            window = await self._selected(shown, self._policy)
            before = window.comments[0].message.id if window.comments else anchor.comment_id
        if before is None:
            return CommentPage("", 0, None)
        position, comment = await self._placed(before, shown.issue)
        if comment is None:
            return CommentPage("There is no such comment in this thread.", 0, None)
        found = await self._read(Anchor(comment.id, comment.created_at, anchor.arrived, comment.kind), count, position)
        selection = await self._selected(found, replace(self._policy, count=count))
        # comments further back are not looked at, so that whoever writes much costs little, and hides nothing
        looked = [message for message in found.messages if message.out != "beyond window"]
        more = not found.complete or len(looked) < len(found.messages)
        if not selection.comments:
            older = looked[0].id if more and looked and order(looked[0]) < order(comment) else None
            return CommentPage("", 0, older)
        text = fence_value(self._nonce_key, "comments", "thread", "untrusted", comments_text(selection).text)
        oldest = selection.comments[0].message.id
        older = oldest if len(selection.comments) == count or more else None
        return CommentPage(text, len(selection.comments), older)

    async def objection(self, what: Literal["pin", "unpin"], comment_id: int) -> str:
        """Why a comment cannot be pinned or unpinned by a tool; empty if it can."""
        if what == "unpin":
            return "" if comment_id in await self._pinned() else "that comment is not pinned by the bot"
        issue = (await self._thread()).issue
        try:
            comment = await self._client.said(self._number, comment_id, pull_request=issue.is_pull_request)
        except NotFound:
            return "there is no such comment"
        if not await self._stands_here(comment, issue.comment_count):
            return "that comment stands in another thread"
        if not (await self._role_of(comment.author)).at_least(self._least):
            return f"its author's role is below `{self._least}`, so a tool cannot pin it"
        return ""

    async def _selected(self, snapshot: ThreadSnapshot, policy: WindowPolicy) -> Selection:
        roles: dict[int, Role] = {}
        while needed := authors_needed(snapshot, policy, roles):
            roles |= {account.id: await self._role_of(account) for account in needed}
        return select(snapshot, policy, roles)

    async def _placed(self, comment_id: int, issue: Issue) -> tuple[int, Comment | None]:
        """How many comments of the conversation stand up to what has this number, and itself; None: not in here."""
        position, comment = await self._position(comment_id, issue.comment_count)
        if comment is not None or not issue.is_pull_request:
            return position, comment
        with suppress(NotFound):
            comment = await self._client.said(self._number, comment_id, pull_request=True)
        if comment is None or not await self._stands_here(comment, issue.comment_count):
            return 0, None
        at = comment.created_at
        return await self._count(issue.comment_count, lambda one: one.created_at <= at), comment

    async def _count(self, total: int, precedes: Callable[[Comment], bool]) -> int:
        """How many comments of the conversation come first, as far as `precedes` holds.

        GitHub lists an issue's comments by ascending id, so that a page is found by halving.
        """
        low, high = 0, max(1, -(-total // PER_PAGE))
        while low < high:
            middle = (low + high + 1) // 2
            items = await self._at(middle)
            if items and precedes(items[0]):
                low = middle
            else:
                high = middle - 1
        return 0 if low == 0 else (low - 1) * PER_PAGE + sum(map(precedes, await self._at(low)))

    async def _stands_here(self, comment: Comment, total: int) -> bool:
        if comment.kind != "comment":
            return re.search(rf"/pull/{self._number}#", comment.url) is not None
        return (await self._position(comment.id, total))[1] is not None

    async def _position(self, comment_id: int, total: int) -> tuple[int, Comment | None]:
        """How many comments stand up to this one, and itself; None where it is not among them."""
        count = await self._count(total, lambda one: one.id <= comment_id)
        page, place = divmod(max(0, count - 1), PER_PAGE)
        last = (await self._at(page + 1))[place] if count else None
        return (count, last) if last is not None and last.id == comment_id else (0, None)

    async def _at(self, page: int) -> tuple[Comment, ...]:
        if page not in self._pages:
            found = await self._client.comments(self._number, page=page, per_page=PER_PAGE)
            self._pages[page] = tuple(sorted(found.items, key=lambda comment: comment.id))
        return self._pages[page]
