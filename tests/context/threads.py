"""Threads to read: people, comments, and a repository client that counts its calls."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from bot.context import Anchor, StoredVersion, ThreadSnapshot, read_thread
from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.thread import Account, Comment, CommentPage, Issue

ANA = Account(1, "ana")
MEG = Account(2, "meg")
SAM = Account(3, "sam")
BOT = Account(90, "threadsmith[bot]", "Bot")
CI = Account(91, "checks[bot]", "Bot")
START = datetime(2025, 11, 3, 12, 0, 0, tzinfo=UTC)
ROLES = {ANA.id: Role.ADMIN, MEG.id: Role.WRITE, SAM.id: Role.READ}


def moment(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def comment(number: int, body: str | None = None, author: Account = ANA, **changes: object) -> Comment:
    """Comment `number`, written in minute `number`."""
    fields: dict[str, object] = {
        "id": number,
        "author": author,
        "body": f"comment {number}" if body is None else body,
        "created_at": moment(number),
        "updated_at": moment(number),
        "url": f"https://github.test/o/r/issues/7#issuecomment-{number}",
    }
    return Comment(**(fields | changes))  # type: ignore[arg-type]  # a builder for tests


def stored(of: Comment, **changes: object) -> StoredVersion:
    """A comment as the store saw it, a second after it was written."""
    fields: dict[str, object] = {
        "comment_id": of.id,
        "author": of.author,
        "role": of.role,
        "body": of.body,
        "created_at": of.created_at,
        "updated_at": of.updated_at,
        "seen_at": of.updated_at + timedelta(seconds=1),
        "url": of.url,
    }
    return StoredVersion(**(fields | changes))  # type: ignore[arg-type]  # a builder for tests


def issue(count: int, **changes: object) -> Issue:
    fields: dict[str, object] = {
        "id": 700,
        "number": 7,
        "title": "Crash on empty input",
        "body": "It crashes.",
        "author": SAM,
        "state": "open",
        "url": "https://github.test/o/r/issues/7",
        "labels": ("bug",),
        "created_at": START - timedelta(days=1),
        "updated_at": START - timedelta(days=1),
        "comment_count": count,
    }
    return Issue(**(fields | changes))  # type: ignore[arg-type]  # a builder for tests


class Thread:
    """A thread behind a client: what a repository client of `bot.github` answers, in pages as GitHub cuts them."""

    def __init__(self, comments: Iterable[Comment], head: Issue | None = None) -> None:
        self.items = sorted(comments, key=lambda item: item.id)
        self.head = head or issue(len(self.items))
        self.calls: list[str] = []
        #: how many comments each page could hold
        self.sizes: list[int] = []
        #: how many each held
        self.given: list[int] = []

    async def issue(self, number: int) -> Issue:
        self.calls.append("issue")
        return self.head

    async def comments(self, number: int, *, page: int, per_page: int = 100) -> CommentPage:
        self.calls.append(f"page {page}")
        self.sizes.append(per_page)
        start = (page - 1) * per_page
        items = tuple(self.items[start : start + per_page])
        self.given.append(len(items))
        return CommentPage(items, max(1, -(-len(self.items) // per_page)))


def ours(found: Comment) -> Slot | str | None:
    """Bodies of the bot begin with their purpose: `result: …`, `status: …`, or with a part: `result/2: …`."""
    if found.author != BOT:
        return None
    purpose, _, part = found.body.partition(":")[0].partition("/")
    return Slot("run/1", purpose, part=int(part)) if part else purpose


def is_command(body: str) -> bool:
    return body.strip() in ("@bot status", "@bot approve")


async def read(
    thread: Thread, anchor: Comment | Anchor, window: int = 5, known_count: int | None = None, **more: object
) -> ThreadSnapshot:
    """The snapshot at a comment; its payload counted all comments up to it unless told otherwise."""
    if isinstance(anchor, Comment):
        if known_count is None:
            known_count = sum(item.id <= anchor.id for item in thread.items)
        anchor = Anchor(anchor.id, anchor.created_at)
    return await read_thread(
        thread,
        number=7,
        anchor=anchor,
        window=window,
        known_count=known_count or 0,
        is_ours=ours,
        is_command_only=is_command,
        **more,  # type: ignore[arg-type]  # passed on by tests
    )
