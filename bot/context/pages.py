"""At most two pages of a thread's comments, found from the count and the window, whatever the thread's length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.model.thread import Comment, CommentPage, Issue

#: the most that GitHub gives a page, and the least of a page that is to hold as much as it can
PER_PAGE, LEAST_PER_PAGE = 100, 50
#: a count is seldom off by more than the comments written while the delivery was on its way
_SLACK = 10


class ThreadReader(Protocol):
    """What a thread is read through; a repository client of `bot.github` is one."""

    async def issue(self, number: int) -> Issue: ...

    async def comments(self, number: int, *, page: int, per_page: int = 100) -> CommentPage: ...


@dataclass(frozen=True, slots=True)
class Page:
    """Comments by ascending id as they were read, and how many stood before them and up to their page's end."""

    before: int
    end: int
    items: Sequence[Comment]


@dataclass(slots=True)
class Pages:
    """What was read of a listing, and whether older ones remain unread. GitHub lists by ascending id."""

    read: list[Page] = field(default_factory=list)

    def add(self, number: int, size: int, items: Sequence[Comment]) -> None:
        """A page was read, by its number from 1 and how many it can hold."""
        ordered = sorted(items, key=lambda comment: comment.id)
        self.read.append(Page((number - 1) * size, number * size, ordered))

    @property
    def comments(self) -> dict[int, Comment]:
        return {comment.id: comment for page in self.read for comment in page.items}

    @property
    def complete(self) -> bool:
        """Whether nothing older than what was read remains."""
        runs = self._runs()
        return not runs or runs[-1][0].before == 0

    @property
    def oldest(self) -> datetime | None:
        """When the oldest comment of the newest pages without a gap was written; None where nothing older remains."""
        runs = self._runs()
        if not runs or runs[-1][0].before == 0:
            return None
        return min(comment.created_at for comment in runs[-1][0].items)

    def covers(self, comment_id: int) -> bool:
        """Whether a comment with this id would be on the pages read, if it were still there.

        A newer one than the newest read may be on its way.
        """
        for run in self._runs():
            low = run[0].items[0].id if run[0].before else 0
            if low <= comment_id <= max(page.items[-1].id for page in run):
                return True
        return False

    def _runs(self) -> list[list[Page]]:
        """The pages read that have comments, oldest first, in runs without a gap between them."""
        runs: list[list[Page]] = []
        for page in sorted((page for page in self.read if page.items), key=lambda page: page.before):
            if runs and page.before <= max(one.end for one in runs[-1]):
                runs[-1].append(page)
            else:
                runs.append([page])
        return runs


async def read_pages(
    reader: ThreadReader,
    number: int,
    count: int,
    *,
    total: int = 0,
    wanted: int = PER_PAGE,
    precedes: Callable[[Comment], bool],
    enough: Callable[[Pages], bool],
) -> Pages:
    """The page that the anchor's position in the count points at, and one more where it is needed.

    `count` is the number of comments when the anchor was written; 0 reads nothing. `total` is how many there are by now
    as far as is known: a page goes no further. `wanted` is how many comments up to the anchor will probably do,
    `precedes` says whether a comment stands before it, `enough` whether the window can be filled. A count that was too
    high (comments were deleted) or too low (it was stale) is corrected from the first answer's `last`. The second page
    holds as much as it can.
    """
    pages = Pages()
    if count <= 0:
        return pages
    size, first = page_of(count, count if wanted == PER_PAGE else count + _SLACK, wanted, total)
    page = await _read(reader, number, first, size, pages)
    end = first * size
    if page.last < first:
        low, high = (page.last - 1) * size + 1, page.last * size
    elif page.last > first and page.items and all(map(precedes, page.items)):
        # the anchor is further on: on the next page if the count was nearly right
        low, high = (end + 1, end + size) if end - count < _SLACK else ((page.last - 1) * size + 1, page.last * size)
    elif first > 1 and not enough(pages):
        low = high = end - size
    else:
        return pages
    if high >= 1:
        size, second = page_of(low, high, PER_PAGE)
        await _read(reader, number, second, size, pages)
    return pages


def page_of(low: int, high: int, wanted: int, total: int = 0) -> tuple[int, int]:
    """Size and number of the page that holds comments `low` to `high` and, up to `low`, as many as wanted.

    Comments are counted from 1, and there are `total`. Of all such pages it is the one with the fewest comments, or the
    smaller one of two. Where no page holds so many it is the one that holds the most: with pages of 100, comment 10,001
    stands alone on its page. Of two that hold as many it is the larger then.
    """

    def before(size: int) -> int:
        return (low - 1) // size * size

    def held(size: int) -> int:
        return low - before(size) if before(size) == (high - 1) // size * size else 0

    def given(size: int) -> int:
        return min(before(size) + size, max(low, total)) - before(size)

    sizes = range(min(wanted, LEAST_PER_PAGE), PER_PAGE + 1)
    will_do = [size for size in sizes if held(size) >= wanted]
    size = min(will_do, key=given) if will_do else max(sizes, key=lambda size: (held(size), size))
    return size, -(-high // size)


async def _read(reader: ThreadReader, number: int, page_number: int, size: int, pages: Pages) -> CommentPage:
    page = await reader.comments(number, page=page_number, per_page=size)
    pages.add(page_number, size, page.items)
    return page
