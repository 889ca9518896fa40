"""The bot's own pins: the rows, and what shows them to people."""

from __future__ import annotations

from datetime import datetime

from bot.context import PinnedComment, pinned, render_index
from bot.model.codec import comment_to_json
from bot.model.slot import Slot
from bot.model.thread import Account, Comment
from bot.publish import Speaker
from bot.publish.footer import plain
from bot.store import Session, threads
from bot.store.tables import Thread


def own_pins(session: Session, thread: Thread) -> list[PinnedComment]:
    """The bot's own pins of the thread, in the order people number them."""
    return [pinned(row) for row in threads.pins(session, thread.id) if not row.native]


def pin(
    session: Session,
    thread: Thread,
    comment: Comment,
    by: Account,
    role: str,
    speaker: Speaker,
    handle: str,
    now: datetime,
) -> bool:
    """Pin a comment in somebody's name and bring the index up to date; False if it is pinned already.

    `role` is theirs, empty for another bot.
    """
    threads.remember(session, thread.id, comment, now)
    fresh = threads.pin(
        session,
        thread.id,
        comment.id,
        comment_to_json(comment),
        by_id=by.id,
        by=by.login,
        role=role or None,
        when=now,
    )
    if fresh:
        say_index(session, thread, speaker, handle)
    return fresh


def say_index(session: Session, thread: Thread, speaker: Speaker, handle: str) -> None:
    """Bring the thread's one index comment up to date with the rows."""
    speaker.comment(
        session,
        thread,
        Slot(f"thread/{thread.id}", "index"),
        purpose="index",
        body=render_index(own_pins(session, thread), handle),
    )


def listing(session: Session, thread: Thread, handle: str) -> str:
    """The answer to `pins`: the bot's own as the index shows them, and GitHub's."""
    native = [pinned(row) for row in threads.pins(session, thread.id) if row.native]
    text = render_index(own_pins(session, thread), handle, title="**Pinned here by the bot**")
    if native:
        named = ", ".join(f"[a comment by {plain(pin.comment.author.login)}]({pin.comment.url})" for pin in native)
        text = f"{text}\n\nBeside those, GitHub's own *Pin comment* holds {named}."
    return text
