"""Reading a thread as it stood at an anchor: the issue, at most two pages of comments, and what the store has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.context.pages import Pages, ThreadReader, read_pages
from bot.context.pins import merge
from bot.context.sanitise import sanitise
from bot.context.snapshot import Anchor, Message, Pin, PinnedComment, StoredVersion, ThreadSnapshot
from bot.context.versions import EDITED_KNOWN, Versions
from bot.model.slot import Slot
from bot.model.thread import Comment, Issue

#: what a comment of ours is for: the slot that its verified marker names (parts of one slot count once), or its purpose
#: alone; None for everybody else's
IsOurs = Callable[[Comment], Slot | str | None]


@dataclass(slots=True)
class _Found:
    """Everything known about the thread before anything is left out."""

    pages: Pages
    versions: Versions
    is_ours: IsOurs
    is_command_only: Callable[[str], bool]
    reach: int
    pinned: frozenset[int] = field(default_factory=frozenset)
    examined: dict[int, Message] = field(default_factory=dict)


async def read_thread(
    reader: ThreadReader,
    *,
    number: int,
    anchor: Anchor,
    window: int,
    known_count: int = 0,
    versions: Sequence[StoredVersion] = (),
    pins: Sequence[PinnedComment] = (),
    is_ours: IsOurs,
    is_command_only: Callable[[str], bool],
    reach: int | None = None,
) -> ThreadSnapshot:
    """At most three reads in all, for 10 comments and for 10,000.

    `known_count` is the payload's number of comments (0: not known, the issue's own is taken). `is_command_only` says
    of a comment's text that it only holds a built-in command or an answer to a gate. `window` 0 reads the issue alone.
    `reach` is how many mentionable comments keep their text, so that a step that sees only what writers wrote can look
    past what others wrote (default: twice the window; more is wise where strangers comment and a step is risky).
    Raises what the reader raises: NotFound for a thread that was deleted or transferred.
    """
    issue = await reader.issue(number)
    stored = Versions(versions)
    places = _Places(anchor, issue.created_at)
    found = _Found(
        Pages(),
        stored,
        is_ours,
        is_command_only,
        max(window, reach or 2 * window),
        frozenset(pin.comment.id for pin in pins),
    )
    if window:

        def enough(pages: Pages) -> bool:
            found.pages = pages
            messages = _messages(found, places)
            return (
                len({m.unit for m in messages if not m.out and not _foreign_bot(m) and m.id not in found.pinned})
                >= window
            )

        count = known_count or issue.comment_count
        if issue.comment_count:
            count = min(count, issue.comment_count)
        if anchor.comment_id is not None:
            count = max(count, 1)
        found.pages = await read_pages(reader, number, count, precedes=places.precede, enough=enough)
    reads = 1 + len(found.pages.by_number)
    shown_pins, notes = _pins(found, issue, pins)
    found.pinned = frozenset(pin.message.id for pin in shown_pins)
    body, body_removed, body_notes = _issue(issue, stored.issue_body(issue, anchor))
    return ThreadSnapshot(
        issue=body,
        issue_removed=body_removed,
        anchor=anchor,
        window=window,
        messages=tuple(_messages(found, places)),
        pins=shown_pins,
        notes=(*body_notes, *notes),
        reads=reads,
        complete=found.pages.complete if found.pages.by_number else not (window and issue.comment_count),
    )


class _Places:
    """Which comments stand before the anchor: by creation time, then id."""

    def __init__(self, anchor: Anchor, opened_at: datetime) -> None:
        self._anchor = anchor
        self._opened_at = opened_at

    def precede(self, comment: Comment) -> bool:
        anchor = self._anchor
        if comment.created_at != anchor.at:
            return comment.created_at < anchor.at
        if anchor.comment_id is None:
            # of an event's own second everything counts, except that nothing precedes the issue itself
            return anchor.at != self._opened_at
        return comment.id < anchor.comment_id

    def is_request(self, comment: Comment) -> bool:
        return comment.id == self._anchor.comment_id

    def as_of(self, comment: Comment, versions: Versions) -> tuple[Comment, str]:
        return versions.as_of(comment, self._anchor)


def _messages(found: _Found, places: _Places) -> list[Message]:
    """Every comment known to stand before the anchor, and the anchor's, oldest first."""
    read = found.pages.comments
    gone = found.versions.deleted | {i for i in found.versions.ids if i not in read and found.pages.covers(i)}
    known = dict(read)
    for comment_id in found.versions.ids - read.keys():
        known[comment_id] = found.versions.current(comment_id)
    ordered = sorted(known.values(), key=lambda comment: (comment.created_at, comment.id), reverse=True)
    units: set[str] = set()
    bots = 0
    messages: list[Message] = []
    for comment in ordered:
        if places.is_request(comment):
            messages.append(_message(comment, out="request"))
            continue
        if not places.precede(comment):
            continue
        if comment.id in gone and comment.id not in read:
            messages.append(_message(replace(comment, body=""), out="deleted"))
            continue
        if comment.minimized:
            message = _message(comment, out="minimised")
        elif len(units) >= found.reach:
            message = _message(comment, out="beyond window")
        else:
            message = found.examined.get(comment.id) or _examined(comment, found, places, bots_full=bots >= found.reach)
            found.examined[comment.id] = message
        if not message.out and message.id not in found.pinned:
            if _foreign_bot(message):
                bots += 1
            else:
                units.add(message.unit)
        messages.append(message)
    messages.reverse()
    return messages


def _examined(comment: Comment, found: _Found, places: _Places, *, bots_full: bool) -> Message:
    """One comment as it stood, with what keeps it from being shown, if anything does."""
    purpose, group = _ours(comment, found)
    message = replace(_message(comment), purpose=purpose, group=group)
    if purpose not in (None, "result"):
        return replace(message, out=f"own {purpose}")
    if bots_full and _foreign_bot(message):
        # as many are kept as any policy could show; they take no place from people
        return replace(message, out="other bot")
    then, note = places.as_of(comment, found.versions)
    clean = sanitise(then.body)
    message = replace(
        message,
        bytes=_size(then.body),
        updated_at=then.updated_at,
        removed=clean.removed if purpose is None else (),
        note=note,
    )
    if not clean.text.strip():
        return replace(message, out="empty")
    if purpose is None and found.is_command_only(then.body):
        return replace(message, out="command")
    return replace(message, text=clean.text)


def _message(comment: Comment, out: str = "") -> Message:
    return Message(
        id=comment.id,
        author=comment.author,
        created_at=comment.created_at,
        updated_at=comment.updated_at,
        bytes=_size(comment.body),
        url=comment.url,
        out=out,
    )


def _ours(comment: Comment, found: _Found) -> tuple[str | None, str]:
    """The purpose of a comment of ours, and what its parts share."""
    ours: Slot | str | None
    if comment.id in found.pages.comments:
        ours = found.is_ours(comment)
    elif comment.id in found.versions.ids:
        version = found.versions.newest(comment.id)
        if version.purpose is None or version.slot is None:
            return version.purpose, ""
        ours = replace(Slot.parse(version.slot), purpose=version.purpose)
    else:
        ours = found.is_ours(comment)
    if isinstance(ours, Slot):
        return ours.purpose, str(replace(ours, part=0))
    return ours, ""


def _foreign_bot(message: Message) -> bool:
    return message.author.is_bot and message.purpose is None


def _pins(found: _Found, issue: Issue, pins: Sequence[PinnedComment]) -> tuple[tuple[Pin, ...], tuple[str, ...]]:
    """All pins with their current text, sanitised."""
    read = found.pages.comments
    gone = found.versions.deleted | {
        pin.comment.id for pin in pins if pin.comment.id not in read and found.pages.covers(pin.comment.id)
    }
    current = dict(read)
    for pin in pins:
        if pin.comment.id not in current and pin.comment.id in found.versions.ids:
            current[pin.comment.id] = found.versions.current(pin.comment.id)
    # the issue's own word about its pin is the newest; what it does not name any more was unpinned
    now = [issue.pinned_comment] if issue.pinned_comment else [c for c in read.values() if c.pinned]
    native = [_native(comment, pins) for comment in now]
    stored = [pin for pin in pins if pin.native and not now]
    merged, notes = merge(
        [pin for pin in pins if not pin.native], [*stored, *native], current=current, deleted=gone - set(_ids(now))
    )
    return tuple(_pin(pin, found) for pin in merged), notes


def _native(comment: Comment, pins: Iterable[PinnedComment]) -> PinnedComment:
    known = next((pin for pin in pins if pin.native and pin.comment.id == comment.id), None)
    return replace(known, comment=comment) if known else PinnedComment(comment, "", comment.updated_at, native=True)


def _ids(comments: Iterable[Comment]) -> list[int]:
    return [comment.id for comment in comments]


def _pin(pin: PinnedComment, found: _Found) -> Pin:
    clean = sanitise(pin.comment.body)
    notes = [f"pinned by {pin.pinned_by}" if pin.pinned_by else "pinned on GitHub"]
    if pin.edited:
        notes.append(f"edited {pin.comment.updated_at:%Y-%m-%d %H:%M} UTC")
    message = replace(
        _message(pin.comment),
        purpose=_ours(pin.comment, found)[0],
        text=clean.text,
        removed=clean.removed,
        note="; ".join(notes),
    )
    return Pin(message, pin.pinned_by, pin.pinned_at, pin.native, pin.role)


def _issue(issue: Issue, then: StoredVersion | None) -> tuple[Issue, tuple[str, ...], tuple[str, ...]]:
    """The issue with title and body sanitised, as they stood if that is known; what was removed; notes."""
    notes: tuple[str, ...] = ()
    body, title = issue.body, issue.title
    if then is not None and (then.body != body or (then.title and then.title != title)):
        body, title = then.body, then.title or title
        notes = (f"issue body: {EDITED_KNOWN}",)
    clean, clean_title = sanitise(body), sanitise(title)
    one_line = " ".join(clean_title.text.split())
    labels = tuple(" ".join(sanitise(label).text.split()) for label in issue.labels)
    plain = replace(issue, title=one_line, body=clean.text, labels=labels, pinned_comment=None)
    return plain, (*clean.removed, *(f"title: {line}" for line in clean_title.removed)), notes


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
