"""`pin`, `unpin` and `pins`: which comment is meant, and the rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from bot.dispatch.acceptance import Acceptance, Act, Asked
from bot.dispatch.commands import Command
from bot.dispatch.pins import listing, own_pins, say_index
from bot.dispatch.replies import Prepare, Replies
from bot.errors import NotFound, UserError
from bot.github import RepositoryClient
from bot.model.codec import comment_to_json
from bot.model.thread import Comment
from bot.publish import Speaker
from bot.store import Session, threads
from bot.store.tables import Thread

PER_PAGE = 100
_COMMENT = re.compile(r"issuecomment-(\d+)")


async def chosen(command: Command, acceptance: Acceptance, client: RepositoryClient) -> Comment:
    """The comment to be pinned: the one linked, with text the asking one, else the one before it."""
    link = command.params.get("link")
    asking = acceptance.event.comment
    if link:
        return await _linked(link, acceptance, client)
    if command.text.strip():
        if asking is None:
            raise UserError("pin_refused", "the issue's own text is always shown to agents", "pin a comment instead")
        return asking
    return await _before(acceptance, client)


async def _linked(link: str, acceptance: Acceptance, client: RepositoryClient) -> Comment:
    event = acceptance.event
    comment_id = comment_of(link, event.repository.full_name, event.issue.number)
    try:
        comment = await client.comment(comment_id)
    except NotFound:
        raise UserError("pin_refused", "there is no such comment any more", "") from None
    # the address in the link is what somebody typed; the comment's own says where it really stands
    if comment.url and comment_of(comment.url, event.repository.full_name, event.issue.number) != comment_id:
        raise UserError("pin_refused", "that comment stands in another thread", "pin it there")
    return comment


def comment_of(link: str, full_name: str, number: int) -> int:
    """The comment's id in a link to a comment of this thread. Raises `UserError` for any other link."""
    parts = urlsplit(link)
    found = _COMMENT.fullmatch(parts.fragment)
    if found is None:
        raise UserError("pin_refused", "that is no link to a comment", "use the comment's own *Copy link*")
    path = parts.path.casefold().rstrip("/")
    if path not in {f"/{full_name}/{kind}/{number}".casefold() for kind in ("issues", "pull")}:
        raise UserError("pin_refused", "that comment stands in another thread", "pin it there")
    return int(found[1])


async def _before(acceptance: Acceptance, client: RepositoryClient) -> Comment:
    event = acceptance.event
    asking = event.comment
    page = max(1, -(-event.issue.comment_count // PER_PAGE))
    while asking is not None and page >= 1:
        found = await client.comments(event.issue.number, page=page, per_page=PER_PAGE)
        earlier = [c for c in found.items if (c.created_at, c.id) < (asking.created_at, asking.id) and not c.minimized]
        if earlier:
            return max(earlier, key=lambda c: (c.created_at, c.id))
        page = page - 1 if page <= found.last else found.last
    raise UserError("pin_refused", "there is no comment before yours", "link the one you mean, or write `pin <text>`")


def pin(
    session: Session, thread: Thread, comment: Comment, asked: Asked, acceptance: Acceptance, speaker: Speaker
) -> bool:
    """Pin it and bring the index up to date; False if it is pinned already."""
    sender = acceptance.event.sender
    threads.remember(session, thread.id, comment, acceptance.now)
    fresh = threads.pin(
        session,
        thread.id,
        comment.id,
        comment_to_json(comment),
        by_id=sender.id,
        by=sender.login,
        role=str(asked.role) if asked.role else None,
        when=acceptance.now,
    )
    if fresh:
        say_index(session, thread, speaker, acceptance.handle)
    return fresh


def unpin(session: Session, thread: Thread, command: Command, handle: str, speaker: Speaker) -> None:
    """Take one of the bot's pins away, by its number in the index or by link."""
    own = own_pins(session, thread)
    if "number" in command.params:
        number = int(command.params["number"])
        if not 1 <= number <= len(own):
            raise UserError("unpin_refused", f"there is no pin {number} here", "`pins` lists them")
        comment_id = own[number - 1].comment.id
    else:
        full_name = f"{thread.owner}/{thread.name}"
        comment_id = comment_of(command.params["link"], full_name, thread.number)
    if not threads.unpin(session, thread.id, comment_id):
        native = any(row.native and row.comment_id == comment_id for row in threads.pins(session, thread.id))
        if native:
            raise UserError("unpin_refused", "that comment is pinned by GitHub's own *Pin comment*", "unpin it there")
        raise UserError("unpin_refused", "that comment is not pinned here", "`pins` lists those that are")
    say_index(session, thread, speaker, handle)


async def _pin(replies: Replies, asked: Asked, acceptance: Acceptance, client: RepositoryClient) -> Act:
    comment = await chosen(asked.command, acceptance, client)

    def act(session: Session, thread: Thread) -> None:
        if pin(session, thread, comment, asked, acceptance, replies.speaker):
            replies.done(session, thread, asked, acceptance)
        else:
            replies.say(session, thread, asked, acceptance, f"[That comment]({comment.url}) is pinned already.")

    return act


async def _unpin(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        try:
            unpin(session, thread, asked.command, acceptance.handle, replies.speaker)
        except UserError as error:
            replies.refusal(asked, acceptance, error)(session, thread)
        else:
            replies.done(session, thread, asked, acceptance)

    return act


async def _pins(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        replies.done(session, thread, asked, acceptance)
        replies.say(session, thread, asked, acceptance, listing(session, thread, acceptance.handle))

    return act


PREPARES: Mapping[str, Prepare] = {"pin": _pin, "unpin": _unpin, "pins": _pins}
