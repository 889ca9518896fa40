"""Comments and reactions: how they are said, and how a comment is found again by its marker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from bot.errors import Forbidden, NotFound
from bot.model.thread import Comment
from bot.publish.eyes import taken
from bot.publish.marker import Marker, shown_digest
from bot.publish.performer import Act, Found, Made, Performer, Untargeted
from bot.store.tables import Thread


class CommentPort(Protocol):
    """The comments of one repository. Errors are those of `bot.errors`."""

    async def create_comment(self, number: int, body: str, *, pull_request: bool = False) -> Comment: ...

    async def edit_comment(
        self, comment_id: int, body: str, *, kind: str = "comment", pull_request: bool = False
    ) -> Comment: ...

    async def delete_comment(self, comment_id: int, *, kind: str = "comment", pull_request: bool = False) -> None: ...

    async def react(
        self, content: str, *, number: int, comment_id: int | None, kind: str = "comment", pull_request: bool = False
    ) -> int | None: ...

    async def unreact(
        self,
        reaction_id: int,
        *,
        number: int,
        comment_id: int | None,
        kind: str = "comment",
        pull_request: bool = False,
    ) -> None: ...

    async def comments_since(self, number: int, since: datetime) -> tuple[Comment, ...]: ...

    async def reply_to_review_comment(self, number: int, comment_id: int, body: str) -> Comment: ...

    async def review_comments_since(self, number: int, since: datetime) -> tuple[Comment, ...]: ...

    async def react_to_review(self, content: str, number: int, review_id: int) -> None: ...

    async def unreact_to_review(self, content: str, number: int, review_id: int) -> None: ...


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
            return _made(await port.edit_comment(row.posted_id, body, kind=row.target_kind, pull_request=on_pull))
        if row.target_id is not None:
            return await self._reply(port, act, row.target_id, body)
        return _made(await port.create_comment(thread.number, body, pull_request=on_pull))

    async def _reply(self, port: CommentPort, act: Act, target_id: int, body: str) -> Made:
        """Below a review comment; where that is gone or takes no reply, the answer is not lost with it."""
        try:
            return _made(await port.reply_to_review_comment(act.thread.number, target_id, body))
        except (NotFound, Forbidden) as error:
            # a refusal with a word of its own is about more than this comment; 422: it is itself a reply
            if error.why or (isinstance(error, Forbidden) and error.status != 422):
                raise
            raise Untargeted(str(error)) from error

    async def _react(self, act: Act) -> Made:
        row = act.row
        if (content := taken(row.body)) is not None:
            return await self._unreact(act, content)
        return Made(id=await self._put(act, row.body) or row.posted_id, url=row.url)

    async def _put(self, act: Act, content: str) -> int | None:
        """Put it there; the reaction's id, where GitHub tells it. Twice is once."""
        row, thread = act.row, act.thread
        port = self._port(thread)
        if row.target_kind == "review" and row.target_id is not None:
            await port.react_to_review(content, thread.number, row.target_id)
            return None
        return await port.react(
            content,
            number=thread.number,
            comment_id=row.target_id,
            kind=row.target_kind,
            pull_request=thread.is_pull_request,
        )

    async def _unreact(self, act: Act, content: str) -> Made:
        """Take it away. Where it is gone, or the whole comment, there is nothing left to do."""
        row, thread = act.row, act.thread
        port, calls = self._port(thread), 1
        try:
            if row.target_kind == "review" and row.target_id is not None:
                await port.unreact_to_review(content, thread.number, row.target_id)
                return Made()
            reaction_id = row.posted_id
            if reaction_id is None:
                # what was put there without an answer tells its id when it is put there again
                reaction_id, calls = await self._put(act, content), 2
            if reaction_id is None:
                return Made()
            await port.unreact(
                reaction_id,
                number=thread.number,
                comment_id=row.target_id,
                kind=row.target_kind,
                pull_request=thread.is_pull_request,
            )
        except NotFound as error:
            if error.why:
                raise
        return Made(calls=calls)

    async def _found(self, act: Act, since: datetime) -> list[Found]:
        thread = act.thread
        wanted = shown_digest(act.row.body)
        found = []
        port, number = self._port(thread), thread.number
        replied = act.row.target_id is not None
        listed = await (port.review_comments_since(number, since) if replied else port.comments_since(number, since))
        for comment in listed:
            if not self._mine(comment):
                continue
            mark = self._marker.find(comment.body, repository_id=thread.repository_id, thread=thread.number)
            if mark is not None and str(mark.slot) == act.row.slot:
                found.append((comment, mark.digest == wanted))
        found.sort(key=lambda pair: (pair[0].created_at, pair[0].id))
        return [Found(_made(comment), intact) for comment, intact in found]

    async def _delete(self, act: Act, comment_id: int) -> None:
        kind, on_pull = act.row.target_kind, act.thread.is_pull_request
        await self._port(act.thread).delete_comment(comment_id, kind=kind, pull_request=on_pull)


def _made(comment: Comment) -> Made:
    return Made({"id": comment.id, "url": comment.url}, comment.id, comment.url)
