"""The messages of a thread: every comment that is known, as it stood at the anchor, with why it cannot be shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from bot.context.found import Found
from bot.context.places import Places
from bot.context.sanitise import sanitise
from bot.context.snapshot import Message, order, ref
from bot.model.thread import Comment

#: comments of the review thread which the request is about that are shown, beside the one that began it
THREAD_MOST = 50
#: what of ours stands in a review thread and means something there: an answer, a finding of a review
_OF_THREAD = (None, "result", "finding")


def messages(found: Found, places: Places) -> list[Message]:
    """Every comment known to stand before the anchor, and the anchor's, oldest first."""
    listed = [
        looked if isinstance(looked, Message) else Message.of(comment, out=looked)
        for comment, looked in _newest_first(found, places)
    ]
    listed.reverse()
    return listed


def in_window(found: Found, places: Places) -> Iterator[Message]:
    """Those that can take a place in a window, whoever's words it shows: the newest first, looked at when asked for."""
    root = places.anchor.root_id
    for _, looked in _newest_first(found, places):
        if (
            isinstance(looked, Message)
            and not looked.out
            and not looked.by_other_bot
            and looked.ref not in found.pinned
            and not looked.stands_in(root)
        ):
            yield looked


def _newest_first(found: Found, places: Places) -> Iterator[tuple[Comment, Message | str]]:
    """Every comment with what was made of it, or with why it was not looked at: most of a page never is."""
    read = found.read.comments
    refs = found.versions.refs
    gone = found.versions.deleted | {i for i in refs if i not in read and found.read.covers(i)}
    ordered = [*read.values(), *(found.versions.current(which) for which in refs - read.keys())]
    ordered.sort(key=order, reverse=True)
    root = places.anchor.root_id
    units: set[str] = set()
    bots = thread = 0
    for comment in ordered:
        if places.is_request(comment):
            yield comment, "request"
            continue
        # most reviews have no text of their own, only comments
        if not places.precede(comment) or (comment.kind == "review" and not comment.body.strip()):
            continue
        which = ref(comment)
        if which in gone and which not in read:
            yield replace(comment, body=""), "deleted"
            continue
        here = root is not None and comment.place is not None and comment.place.root_id == root
        if comment.minimized:
            yield comment, "minimised"
            continue
        if thread >= THREAD_MOST and not places.begins_thread(comment) if here else len(units) >= found.reach:
            yield comment, "beyond window"
            continue
        message = found.examined.get(which)
        if message is None:
            ours = found.ours(comment, read)
            message = _examined(
                comment, ours, found, places, bots_full=bots >= found.reach and not here, of_thread=here
            )
            found.examined[which] = message
        if not message.out and which not in found.pinned:
            if here:
                thread += 1
            elif message.by_other_bot:
                bots += 1
            else:
                units.add(message.unit)
        yield comment, message


def is_newer(message: Message, oldest: datetime | None) -> bool:
    """Whether no unread comment, all of which are older than `oldest`, can stand behind a message.

    One that only the store knows, or a page with a gap behind it, may be older than what nobody has read.
    """
    return oldest is None or message.created_at >= oldest


def _examined(
    comment: Comment, ours: tuple[str | None, str], found: Found, places: Places, *, bots_full: bool, of_thread: bool
) -> Message:
    """One comment as it stood, with what keeps it from being shown, if anything does."""
    purpose, group = ours
    message = replace(Message.of(comment), purpose=purpose, group=group)
    if purpose not in (_OF_THREAD if of_thread else (None, "result")):
        return replace(message, out=f"own {purpose}")
    if bots_full and message.by_other_bot:
        # as many are kept as any policy could show; they take no place from people
        return replace(message, out="other bot")
    then, note = found.versions.as_of(comment, places.anchor)
    clean = sanitise(then.body)
    message = replace(
        Message.of(then),
        purpose=purpose,
        group=group,
        removed=clean.removed if purpose is None else (),
        note=note,
    )
    if not clean.text.strip():
        return replace(message, out="empty")
    if purpose is None and found.is_command_only(then.body):
        return replace(message, out="command")
    return replace(message, text=clean.text)
