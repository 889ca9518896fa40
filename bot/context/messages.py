"""The messages of a thread: every comment that is known, as it stood at the anchor, with why it cannot be shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bot.context.found import Found
from bot.context.places import Places
from bot.context.sanitise import sanitise
from bot.context.snapshot import Kind, Message, order, ref
from bot.model.thread import Comment

#: comments of the review thread which the request is about that are shown, beside the one that began it
THREAD_MOST = 50
#: what of ours stands in a review thread and means something there: an answer, a finding of a review
_OF_THREAD = (None, "result", "finding")


def messages(found: Found, places: Places) -> list[Message]:
    """Every comment known to stand before the anchor, and the anchor's, oldest first."""
    read = found.read.comments
    gone = found.versions.deleted | {i for i in found.versions.refs if i not in read and found.read.covers(i)}
    known = dict(read)
    for which in found.versions.refs - read.keys():
        known[which] = found.versions.current(which)
    ordered = sorted(known.values(), key=order, reverse=True)
    units: set[str] = set()
    bots = thread = 0
    listed: list[Message] = []
    for comment in ordered:
        if places.is_request(comment):
            listed.append(Message.of(comment, out="request"))
            continue
        # most reviews have no text of their own, only comments
        if not places.precede(comment) or (comment.kind == "review" and not comment.body.strip()):
            continue
        here = Message.of(comment).stands_in(places.anchor.root_id)
        if ref(comment) in gone and ref(comment) not in read:
            listed.append(Message.of(replace(comment, body=""), out="deleted"))
            continue
        if comment.minimized:
            message = Message.of(comment, out="minimised")
        elif thread >= THREAD_MOST and not places.begins_thread(comment) if here else len(units) >= found.reach:
            message = Message.of(comment, out="beyond window")
        else:
            message = found.examined.get(ref(comment)) or _examined(
                comment, found, places, bots_full=bots >= found.reach and not here, of_thread=here
            )
            found.examined[ref(comment)] = message
        if not message.out and message.ref not in found.pinned:
            if here:
                thread += 1
            elif message.by_other_bot:
                bots += 1
            else:
                units.add(message.unit)
        listed.append(message)
    listed.reverse()
    return listed


def in_window(found: Found, places: Places) -> list[Message]:
    """Those that can take a place in a window, whoever's words it shows."""
    return [
        message
        for message in messages(found, places)
        if not message.out
        and not message.by_other_bot
        and message.ref not in found.pinned
        and not message.stands_in(places.anchor.root_id)
    ]


def is_newer(message: Message, kind: Kind, oldest: datetime | None) -> bool:
    """Whether no unread comment of a kind, all of which are older than `oldest`, can stand behind a message."""
    return oldest is None or message.kind == kind or message.created_at >= oldest


def _examined(comment: Comment, found: Found, places: Places, *, bots_full: bool, of_thread: bool) -> Message:
    """One comment as it stood, with what keeps it from being shown, if anything does."""
    purpose, group = found.ours(comment)
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
