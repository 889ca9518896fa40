"""What was said in reviews of a pull request: the newest of it, at a cost that does not grow with the thread.

GitHub lists reviews and review comments oldest first, so that the first page tells where the newest are. At most three
pages of each are read: the first, the last, and the one before it where the window is not full.
Source: https://docs.github.com/en/rest/pulls/comments#list-review-comments-on-a-pull-request
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from bot.context.invisible import make_visible
from bot.context.pages import PER_PAGE, Pages
from bot.context.snapshot import Kind, Ref, ref
from bot.context.tally import Tally
from bot.errors import NotFound
from bot.model.context import Block
from bot.model.ident import compact
from bot.model.thread import Comment, CommentPage, ReviewPlace


class ReviewReader(Protocol):
    """What reviews are read through; a repository client of `bot.github` is one."""

    async def reviews_page(self, number: int, page: int, per_page: int = 100) -> CommentPage: ...

    async def review_comments_page(self, number: int, page: int, per_page: int = 100) -> CommentPage: ...

    async def review_comment(self, comment_id: int) -> Comment: ...


@dataclass(slots=True)
class Collected:
    """All that was read of a thread: its conversation, and on a pull request its reviews and their comments.

    `root` is the comment that begins the thread which the request is about, where it was read by itself.
    """

    conversation: Pages = field(default_factory=Pages)
    reviews: Pages = field(default_factory=Pages)
    remarks: Pages = field(default_factory=Pages)
    root: Comment | None = None
    #: calls for a comment by itself
    single: int = 0

    @property
    def comments(self) -> dict[Ref, Comment]:
        """Every comment read."""
        found = [] if self.root is None else [self.root]
        for pages in self._all:
            found += pages.comments.values()
        return {ref(comment): comment for comment in found}

    def covers(self, which: Ref) -> bool:
        """Whether a comment would have been read if it were still there. A review that was submitted stays."""
        kind, number = which
        if kind == "review":
            return False
        return (self.conversation if kind == "comment" else self.remarks).covers(number)

    def of(self, kind: Kind) -> Pages:
        """The pages that hold comments of a kind."""
        return {"comment": self.conversation, "review": self.reviews, "review_comment": self.remarks}[kind]

    @property
    def complete(self) -> bool:
        """Whether nothing older than what was read remains."""
        return all(pages.complete for pages in self._all)

    @property
    def reads(self) -> int:
        """The calls it took."""
        return sum(len(pages.read) for pages in self._all) + self.single

    @property
    def _all(self) -> tuple[Pages, Pages, Pages]:
        return self.conversation, self.reviews, self.remarks


async def read_reviews(
    reader: ReviewReader, number: int, into: Collected, *, root_id: int | None, enough: Callable[[Kind], bool]
) -> None:
    """Read the newest reviews and review comments. `enough` says whether older ones of a kind cannot be wanted."""
    await read_tail(into.reviews, lambda page: reader.reviews_page(number, page, PER_PAGE), lambda: enough("review"))
    await read_tail(
        into.remarks,
        lambda page: reader.review_comments_page(number, page, PER_PAGE),
        lambda: enough("review_comment"),
    )
    if root_id is not None and root_id not in into.remarks.comments and not into.remarks.covers(root_id):
        into.single += 1
        try:
            into.root = await reader.review_comment(root_id)
        except NotFound:  # deleted since
            return


async def read_tail(pages: Pages, read: Callable[[int], Awaitable[CommentPage]], enough: Callable[[], bool]) -> None:
    """The first page, the last, and the one before it unless there is `enough`."""

    async def take(page: int) -> int:
        found = await read(page)
        pages.add(page, PER_PAGE, found.items)
        return found.last

    last = await take(1)
    if last > 1:
        await take(last)
    if last > 2 and not enough():
        await take(last - 1)


def place_block(place: ReviewPlace) -> tuple[Block, tuple[str, ...]]:
    """Where in the changes of a pull request something was said, with its hunk; and what the tally says of that."""
    tally = Tally()
    hunk = make_visible(place.hunk, tally)
    facts = [f"file: {compact(place.path)}"]
    if place.line is not None:
        facts.append(f"line: {place.line}")
    if place.side == "LEFT":
        facts.append("side: the file before the change")
    text = "\n".join(facts) + "\n" + (f"\n{hunk}\n" if hunk else "")
    return Block("review", place.where, "untrusted", text, f"hunk of {place.where}"), tally.lines()
