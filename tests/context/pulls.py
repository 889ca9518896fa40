"""Pull requests to read: a conversation, reviews and review comments, and a client that counts its calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.context import Anchor, ThreadSnapshot, read_thread
from bot.errors import NotFound
from bot.model.thread import Account, Comment, CommentPage, ReviewPlace
from tests.context.threads import ANA, Thread, comment, is_command, issue, ours

URL = "https://github.test/o/r/pull/7"
HUNK = "@@ -1,2 +1,2 @@\n def parse_size(text):\n-    return int(text)\n+    return int(text or 0)"


def review(number: int, body: str = "", author: Account = ANA, **changes: object) -> Comment:
    """Review `number`, submitted in minute `number`."""
    return comment(number, body, author, kind="review", url=f"{URL}#pullrequestreview-{number}", **changes)


def remark(
    number: int, body: str | None = None, author: Account = ANA, *, root: int = 0, of: int | None = None,
    path: str = "src/size.py", line: int | None = 2, **changes: object,
) -> Comment:  # fmt: skip
    """Review comment `number`, written in minute `number`; it begins a thread unless it answers `root`."""
    place = ReviewPlace(path, line, "RIGHT", HUNK, root or number, of)
    text = f"remark {number}" if body is None else body
    url = f"{URL}#discussion_r{number}"
    return comment(number, text, author, kind="review_comment", place=place, url=url, **changes)


class Pull(Thread):
    """A pull request behind a client, in pages as GitHub cuts them."""

    def __init__(
        self, comments: Iterable[Comment] = (), *, reviews: Sequence[Comment] = (), remarks: Sequence[Comment] = ()
    ) -> None:
        items = list(comments)
        super().__init__(items, issue(len(items), is_pull_request=True))
        self.reviews, self.remarks = list(reviews), list(remarks)

    async def reviews_page(self, number: int, page: int, per_page: int = 100) -> CommentPage:
        self.calls.append(f"reviews {page}")
        return _page(self.reviews, page, per_page)

    async def review_comments_page(self, number: int, page: int, per_page: int = 100) -> CommentPage:
        self.calls.append(f"remarks {page}")
        return _page(self.remarks, page, per_page)

    async def review_comment(self, comment_id: int) -> Comment:
        self.calls.append(f"remark {comment_id}")
        for one in self.remarks:
            if one.id == comment_id:
                return one
        raise NotFound("no such comment")


def _page(items: Sequence[Comment], page: int, per_page: int) -> CommentPage:
    start = (page - 1) * per_page
    return CommentPage(tuple(items[start : start + per_page]), max(1, -(-len(items) // per_page)))


async def read_pull(pull: Pull, asked: Comment | Anchor, window: int = 5, **more: object) -> ThreadSnapshot:
    """The snapshot of what stands before a comment, a review or a review comment."""
    if isinstance(asked, Comment):
        root = asked.place.root_id if asked.place is not None else None
        asked = Anchor(asked.id, asked.created_at, None, asked.kind, root)
    return await read_thread(
        pull,
        reviews=pull,
        number=7,
        anchor=asked,
        window=window,
        is_ours=ours,
        is_command_only=is_command,
        **more,  # type: ignore[arg-type]  # passed on by tests
    )
