"""A thread's older comments for tools, against a repository of any size that counts what is read of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from bot.context import Anchor, ThreadSnapshot, WindowPolicy, read_thread
from bot.engine.comments import ThreadComments
from bot.errors import NotFound
from bot.github import RepositoryClient
from bot.model.role import Role
from bot.model.thread import Account, Comment, CommentPage, Issue, ReviewPlace

ANA, SAM = Account(1, "ana"), Account(3, "sam")
START = datetime(2026, 11, 1, tzinfo=UTC)
WINDOW = 5
POLICY = WindowPolicy(count=WINDOW, authors="any", bots="roster", public=True, secrets=False, asked_by=Role.WRITE)


def at(number: int) -> datetime:
    return START + timedelta(minutes=number)


@dataclass
class Fake:
    """A thread of `total` comments with ids 10, 20, …; every third is sam's. `elsewhere` are comments of others."""

    total: int
    reads: list[str] = field(default_factory=list)
    #: from this number on all are sam's
    only_sam_from: int = 1_000_000
    elsewhere: tuple[int, ...] = (7,)
    #: review comments, which make it a pull request
    remarks: tuple[Comment, ...] = ()

    def made(self, number: int) -> Comment:
        author = SAM if number % 3 == 0 or number >= self.only_sam_from else ANA
        return Comment(number * 10, author, f"comment number {number}", at(number), at(number))

    async def issue(self, number: int) -> Issue:
        self.reads.append("issue")
        return Issue(9, number, "Title", "body", ANA, "open", "", (), at(0), at(0), comment_count=self.total,
                     is_pull_request=bool(self.remarks))  # fmt: skip

    async def comments(self, number: int, *, page: int, per_page: int = 100) -> CommentPage:
        self.reads.append(f"page {page}")
        first = (page - 1) * per_page + 1
        items = tuple(self.made(one) for one in range(first, min(first + per_page, self.total + 1)))
        return CommentPage(items, max(1, -(-self.total // per_page)))

    async def comment(self, comment_id: int) -> Comment:
        if comment_id in self.elsewhere:
            return Comment(comment_id, ANA, "elsewhere", at(1), at(1))
        if comment_id % 10 or not 0 < comment_id <= self.total * 10:
            raise NotFound("no such comment")
        return self.made(comment_id // 10)

    async def said(self, number: int, comment_id: int, *, pull_request: bool) -> Comment:
        for one in self.remarks if pull_request else ():
            if one.id == comment_id:
                return one
        return await self.comment(comment_id)

    async def reviews_page(self, number: int, page: int, per_page: int = 100) -> CommentPage:
        return CommentPage((), 1)

    async def review_comments_page(self, number: int, page: int, per_page: int = 100) -> CommentPage:
        return CommentPage(self.remarks, 1)

    async def review_comment(self, comment_id: int) -> Comment:
        raise NotFound("no such comment")

    async def read(self, anchor: Anchor, count: int, position: int) -> ThreadSnapshot:
        return await read_thread(
            self, reviews=self, number=1, anchor=anchor, window=count, known_count=position,
            is_ours=lambda _comment: None, is_command_only=lambda _text: False,
        )  # fmt: skip

    async def role_of(self, account: Account) -> Role:
        return Role.READ if account == SAM else Role.WRITE


def comments(fake: Fake, policy: WindowPolicy = POLICY, pinned: frozenset[int] = frozenset()) -> ThreadComments:
    """The comments as a tool has them; the newest is the one that asked."""

    kept: list[ThreadSnapshot] = []

    async def thread() -> ThreadSnapshot:
        if kept:  # once a run
            return kept[0]
        anchor = Anchor(fake.total * 10 if fake.total else None, at(fake.total), at(fake.total))
        kept.append(await fake.read(anchor, policy.count, fake.total))
        return kept[0]

    async def pins() -> frozenset[int]:
        return pinned

    client: RepositoryClient = fake  # type: ignore[assignment]  # the methods that are used
    return ThreadComments(
        client, number=1, thread=thread, read=fake.read, policy=policy, role_of=fake.role_of, pinned=pins,
        least=Role.WRITE, nonce_key=b"key",
    )  # fmt: skip


def shown(text: str) -> list[int]:
    """The numbers of the comments in a page, in its order."""
    words = text.split()
    return [
        int(words[place + 2])
        for place, word in enumerate(words[:-2])
        if words[place : place + 2] == ["comment", "number"]
    ]


@pytest.mark.parametrize("total", [0, 1, 2, 6, 7, 100, 101, 102, 300, 2000])
async def test_all_of_a_thread_is_read_once(total: int) -> None:
    """Page by page back to its beginning: every comment before the window, none twice, in order."""
    fake = Fake(total)
    tool = comments(fake)
    seen: list[int] = []
    page = await tool.page(None, 50)
    while page.count:
        numbers = shown(page.text)
        assert numbers == sorted(numbers)
        assert len(numbers) == page.count
        seen = numbers + seen
        if page.older is None:
            break
        page = await tool.page(page.older, 50)
    # the newest asked, those before it are the window
    assert seen == list(range(1, max(total - WINDOW, 1)))


@pytest.mark.parametrize("total", [300, 2000, 10000])
async def test_a_page_costs_a_few_reads(total: int) -> None:
    """However long the thread is, and wherever in it: the page of a comment is found by halving, and kept."""
    fake = Fake(total)
    tool = comments(fake)
    await tool.page(None, 20)
    for before in (total * 5, total * 5 - 200, 500):
        fake.reads.clear()
        page = await tool.page(before, 20)
        assert page.count == 20
        assert shown(page.text)[-1] == before // 10 - 1
        # 7 halvings of 100 pages, and what reading a thread costs
        assert len(fake.reads) <= 7 + 1 + 3
    fake.reads.clear()
    await tool.page(500, 20)
    assert len(fake.reads) <= 3


async def test_the_rules_of_the_window_hold() -> None:
    """Where readers are left out of the prompt, a tool does not show them either, and looks past them."""
    policy = WindowPolicy(count=2, authors="writers", bots="roster", public=True, secrets=False, asked_by=Role.WRITE)
    page = await comments(Fake(300), policy).page(None, 10)
    numbers = shown(page.text)
    assert len(numbers) == 10
    assert not [one for one in numbers if one % 3 == 0]


async def test_many_that_may_not_be_shown_do_not_end_the_thread() -> None:
    """Whoever writes much hides nothing: the tool is led on to what stands before, also where a page is not full."""
    policy = WindowPolicy(count=2, authors="writers", bots="roster", public=True, secrets=False, asked_by=Role.WRITE)
    tool = comments(Fake(1000, only_sam_from=301), policy)
    before, seen, pages = 9990, list[int](), 0
    while True:
        page = await tool.page(before, 40)
        seen = shown(page.text) + seen
        pages += 1
        if page.older is None:
            break
        assert page.older < before
        before = page.older
    assert seen == [one for one in range(1, 301) if one % 3]
    assert pages <= 20


async def test_a_comment_that_is_not_there() -> None:
    """Neither one of another thread nor a made-up number says anything of a thread."""
    for before in (7, 5, 99_999):
        page = await comments(Fake(150)).page(before, 10)
        assert (page.count, page.older) == (0, None)


async def test_what_may_be_pinned() -> None:
    """A writer's comment of this thread; what is pinned may be unpinned."""
    tool = comments(Fake(250), pinned=frozenset({20}))
    assert await tool.objection("pin", 1010) == ""
    assert "below `write`" in await tool.objection("pin", 30)
    assert "another thread" in await tool.objection("pin", 7)
    assert "no such comment" in await tool.objection("pin", 99_999)
    assert await tool.objection("unpin", 20) == ""
    assert "not pinned" in await tool.objection("unpin", 10)


def remark(number: int, after: int, seconds: int = 30, pull: int = 1) -> Comment:
    """A review comment, written some time after that comment of the conversation."""
    when, url = at(after) + timedelta(seconds=seconds), f"https://github.test/o/r/pull/{pull}#discussion_r{number}"
    place = ReviewPlace("a.py", 3, "RIGHT", "", number)
    return Comment(number, ANA, f"comment number {number}", when, when, url, kind="review_comment", place=place)


async def test_review_comments_are_among_the_pages() -> None:
    """By time between the comments of the conversation, and a page may begin before one of them."""
    fake = Fake(40, remarks=(remark(7001, 10), remark(7002, 20), remark(7003, 20, 40)))
    tool = comments(fake)
    page = await tool.page(None, 20)
    assert shown(page.text) == [*range(17, 21), 7002, 7003, *range(21, 35)]
    assert page.older == 170
    page = await tool.page(7002, 3)
    assert shown(page.text) == [18, 19, 20]
    page = await tool.page(100, 50)
    assert (shown(page.text), page.older) == (list(range(1, 10)), None)
    assert (await tool.page(9999, 3)).text.startswith("There is no such comment")


async def test_a_review_comment_may_be_pinned() -> None:
    """If it stands on this pull request."""
    tool = comments(Fake(40, remarks=(remark(7001, 10), remark(7002, 11, pull=2))))
    assert await tool.objection("pin", 7001) == ""
    assert await tool.objection("pin", 7002) == "that comment stands in another thread"
