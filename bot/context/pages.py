"""At most two pages of a thread's comments, found from the count, whatever the thread's length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.model.thread import Comment, CommentPage, Issue

#: the most that GitHub gives a page, and the least worth asking for
PER_PAGE, LEAST_PER_PAGE = 100, 50
#: a count is seldom off by more than the comments written while the delivery was on its way
_SLACK = 10


class ThreadReader(Protocol):
    """What a thread is read through; a repository client of `bot.github` is one."""

    async def issue(self, number: int) -> Issue: ...

    async def comments(self, number: int, *, page: int, per_page: int = 100) -> CommentPage: ...


@dataclass(slots=True)
class Pages:
    """What was read: comments by id, which pages, and whether older ones remain unread."""

    by_number: dict[int, Sequence[Comment]] = field(default_factory=dict)
    last: int = 0

    @property
    def comments(self) -> dict[int, Comment]:
        return {comment.id: comment for items in self.by_number.values() for comment in items}

    @property
    def complete(self) -> bool:
        """Whether nothing older than what was read remains."""
        run = self.newest_run
        return not run or run[-1] == 1

    @property
    def newest_run(self) -> list[int]:
        """The pages read that follow each other, from the newest back."""
        numbers = sorted((number for number, items in self.by_number.items() if items), reverse=True)
        return [number for place, number in enumerate(numbers) if number == numbers[0] - place]

    @property
    def oldest(self) -> datetime | None:
        """When the oldest comment of those pages was written; None where nothing older remains."""
        run = self.newest_run
        if not run or run[-1] == 1:
            return None
        return min(comment.created_at for comment in self.by_number[run[-1]])

    def covers(self, comment_id: int) -> bool:
        """Whether a comment with this id would be on the pages read, if it were still there.

        GitHub lists an issue's comments by ascending id. A newer one than the newest read may be on its way.
        """
        for number, items in self.by_number.items():
            after = self.by_number.get(number + 1)
            before = self.by_number.get(number - 1)
            if not items:
                continue
            low = 0 if number == 1 else before[-1].id if before else items[0].id
            high = after[0].id if after else items[-1].id
            if low <= comment_id <= high:
                return True
        return False


async def read_pages(
    reader: ThreadReader,
    number: int,
    count: int,
    *,
    precedes: Callable[[Comment], bool],
    enough: Callable[[Pages], bool],
) -> Pages:
    """The page that the anchor's position in the count points at, and one more where it is needed.

    `count` is the number of comments when the anchor was written; 0 reads nothing. `precedes` says whether a comment
    stands before the anchor, `enough` whether the window can be filled. A count that was too high (comments were
    deleted) or too low (it was stale) is corrected from the first answer's `last`.
    """
    pages = Pages()
    if count <= 0:
        return pages
    size = page_size(count)
    first = -(-count // size)
    page = await _read(reader, number, first, size, pages)
    if page.last < first:
        second = page.last
    elif page.last > first and page.items and all(map(precedes, page.items)):
        # the anchor is further on: on the next page if the count was nearly right
        second = first + 1 if first * size - count < _SLACK else page.last
    elif first > 1 and not enough(pages):
        second = first - 1
    else:
        return pages
    if second >= 1:
        await _read(reader, number, second, size, pages)
    return pages


def page_size(count: int) -> int:
    """The page size at which the page of comment number `count` holds the most comments up to it.

    With pages of 100, comment 10,001 stands alone on its page, and the window would need a second one.
    """
    return max(range(LEAST_PER_PAGE, PER_PAGE + 1), key=lambda size: ((count - 1) % size, size))


async def _read(reader: ThreadReader, number: int, page_number: int, size: int, pages: Pages) -> CommentPage:
    page = await reader.comments(number, page=page_number, per_page=size)
    pages.by_number[page_number] = sorted(page.items, key=lambda comment: comment.id)
    pages.last = page.last
    return page
