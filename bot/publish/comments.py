"""Comments and reactions: how they are said, and how a comment is found again by its marker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from bot.model.thread import Comment
from bot.publish.marker import Marker, shown_digest
from bot.publish.performer import Act, Found, Made, Performer
from bot.store.tables import Thread


class CommentPort(Protocol):
    """The comments of one repository. Errors are those of `bot.errors`."""

    async def create_comment(self, number: int, body: str, *, pull_request: bool = False) -> Comment: ...

    async def edit_comment(self, comment_id: int, body: str, *, pull_request: bool = False) -> Comment: ...

    async def delete_comment(self, comment_id: int, *, pull_request: bool = False) -> None: ...

    async def react(self, content: str, *, number: int, comment_id: int | None, pull_request: bool = False) -> None: ...

    async def comments_since(self, number: int, since: datetime) -> tuple[Comment, ...]: ...


class Comments:
    """`port` gives the write side of a thread's repository; `mine` whether a comment was written by this App (a marker
    copied by somebody else is worthless).
    """

    def __init__(self, port: Callable[[Thread], CommentPort], marker: Marker, mine: Callable[[Comment], bool]) -> None:
        self._port = port
        self._marker = marker
        self._mine = mine

    @property
    def performers(self) -> Mapping[str, Performer]:
        """By action."""
        return {
            # an edit is known by what it edits
            "comment": Performer(
                self._say, self._found, lambda act: act.row.posted_id is not None, take_back=self._delete
            ),
            "reaction": Performer(self._react, again=lambda _act: True),
        }

    async def _say(self, act: Act) -> Made:
        row, thread = act.row, act.thread
        port, on_pull = self._port(thread), thread.is_pull_request
        body = self._marker.sign(row.body, repository_id=thread.repository_id, thread=thread.number, slot=act.slot)
        if row.posted_id is not None:
            return _made(await port.edit_comment(row.posted_id, body, pull_request=on_pull))
        return _made(await port.create_comment(thread.number, body, pull_request=on_pull))

    async def _react(self, act: Act) -> Made:
        row, thread = act.row, act.thread
        await self._port(thread).react(
            row.body, number=thread.number, comment_id=row.target_id, pull_request=thread.is_pull_request
        )
        return Made(id=row.posted_id, url=row.url)

    async def _found(self, act: Act, since: datetime) -> list[Found]:
        thread = act.thread
        wanted = shown_digest(act.row.body)
        found = []
        for comment in await self._port(thread).comments_since(thread.number, since):
            if not self._mine(comment):
                continue
            mark = self._marker.find(comment.body, repository_id=thread.repository_id, thread=thread.number)
            if mark is not None and str(mark.slot) == act.row.slot:
                found.append((comment, mark.digest == wanted))
        found.sort(key=lambda pair: (pair[0].created_at, pair[0].id))
        return [Found(_made(comment), intact) for comment, intact in found]

    async def _delete(self, act: Act, comment_id: int) -> None:
        await self._port(act.thread).delete_comment(comment_id, pull_request=act.thread.is_pull_request)


def _made(comment: Comment) -> Made:
    return Made({"id": comment.id, "url": comment.url}, comment.id, comment.url)
