"""Reading a thread as it stood at an anchor: the issue, a few pages of what was said, and what the store has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.context.pages import Pages, ThreadReader, read_pages
from bot.context.pins import merge
from bot.context.reviews import Collected, ReviewReader, read_reviews
from bot.context.sanitise import sanitise
from bot.context.snapshot import (
    Anchor,
    Kind,
    Message,
    Pin,
    PinnedComment,
    Ref,
    StoredVersion,
    ThreadSnapshot,
    order,
    ref,
)
from bot.context.versions import EDITED_KNOWN, Versions
from bot.model.slot import Slot
from bot.model.thread import Comment, Issue, ReviewPlace

#: what a comment of ours is for: the slot that its verified marker names (parts of one slot count once), or its purpose
#: alone; None for everybody else's
IsOurs = Callable[[Comment], Slot | str | None]

#: comments of the review thread which the request is about that are shown, beside the one that began it
THREAD_MOST = 50
#: what of ours stands in a review thread and means something there: an answer, a finding of a review
_OF_THREAD = (None, "result", "finding")


@dataclass(slots=True)
class _Found:
    """Everything known about the thread before anything is left out."""

    read: Collected
    versions: Versions
    is_ours: IsOurs
    is_command_only: Callable[[str], bool]
    reach: int
    pinned: frozenset[Ref] = field(default_factory=frozenset)
    examined: dict[Ref, Message] = field(default_factory=dict)


async def read_thread(
    reader: ThreadReader,
    *,
    reviews: ReviewReader | None = None,
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
    """At most three reads in all, for 10 comments and for 10,000; of a pull request at most seven more.

    `reviews` is where a pull request's reviews and their comments are read; their places among the comments are by
    time, and the same rules are theirs.
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
        Collected(),
        stored,
        is_ours,
        is_command_only,
        max(window, reach or 2 * window),
        frozenset(ref(pin.comment) for pin in pins),
    )
    if window:

        def enough(kind: Kind) -> bool:
            """Whether the window is full without what is older than what was read of a kind."""
            oldest = found.read.of(kind).oldest
            return len({m.unit for m in _window(found, places) if _is_newer(m, kind, oldest)}) >= window

        def enough_comments(pages: Pages) -> bool:
            found.read.conversation = pages
            return enough("comment")

        if reviews is not None and issue.is_pull_request:
            await read_reviews(reviews, number, found.read, root_id=anchor.root_id, enough=enough)

        count = known_count or issue.comment_count
        if issue.comment_count:
            count = min(count, issue.comment_count)
        if anchor.comment_id is not None and anchor.kind == "comment":
            count = max(count, 1)
        found.read.conversation = await read_pages(
            reader, number, count, precedes=places.precede, enough=enough_comments
        )
    reads = 1 + found.read.reads
    shown_pins, notes = _pins(found, issue, pins)
    found.pinned = frozenset(pin.message.ref for pin in shown_pins)
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
        complete=_is_complete(found.read, window, issue),
        place=_place(found, anchor),
    )


def _is_complete(read: Collected, window: int, issue: Issue) -> bool:
    """Whether nothing that was said before the anchor is missing."""
    conversation = bool(read.conversation.by_number) or not (window and issue.comment_count)
    return conversation and read.complete


def _place(found: _Found, anchor: Anchor) -> ReviewPlace | None:
    """Where the request stands in the changes: the place of its own comment, else of the one that began the thread."""
    read = found.read.comments
    for which in (anchor.ref, None if anchor.root_id is None else ("review_comment", anchor.root_id)):
        if which is None or which[0] != "review_comment":
            continue
        comment = read.get(which)
        if comment is None and which in found.versions.refs:
            comment = found.versions.current(which)
        if comment is not None and comment.place is not None:
            return comment.place
    return None


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
        # numbers of another sort say nothing about which was first
        return comment.kind != anchor.kind or comment.id < anchor.comment_id

    @property
    def root_id(self) -> int | None:
        """The comment that begins the review thread which the request is about."""
        return self._anchor.root_id

    def begins_thread(self, comment: Comment) -> bool:
        return ref(comment) == ("review_comment", self._anchor.root_id)

    def is_request(self, comment: Comment) -> bool:
        anchor, place = self._anchor, comment.place
        if anchor.kind == "review" and place is not None and place.review_id == anchor.comment_id:
            return anchor.comment_id is not None
        return ref(comment) == anchor.ref

    def in_thread(self, comment: Comment) -> bool:
        """Whether it stands in the review thread which the request is about."""
        root = self._anchor.root_id
        return root is not None and comment.place is not None and comment.place.root_id == root

    def as_of(self, comment: Comment, versions: Versions) -> tuple[Comment, str]:
        return versions.as_of(comment, self._anchor)


def _messages(found: _Found, places: _Places) -> list[Message]:
    """Every comment known to stand before the anchor, and the anchor's, oldest first."""
    read = found.read.comments
    gone = found.versions.deleted | {i for i in found.versions.refs if i not in read and found.read.covers(i)}
    known = dict(read)
    for which in found.versions.refs - read.keys():
        known[which] = found.versions.current(which)
    ordered = sorted(known.values(), key=order, reverse=True)
    units: set[str] = set()
    bots = thread = 0
    messages: list[Message] = []
    for comment in ordered:
        if places.is_request(comment):
            messages.append(_message(comment, out="request"))
            continue
        # most reviews have no text of their own, only comments
        if not places.precede(comment) or (comment.kind == "review" and not comment.body.strip()):
            continue
        here = places.in_thread(comment)
        if ref(comment) in gone and ref(comment) not in read:
            messages.append(_message(replace(comment, body=""), out="deleted"))
            continue
        if comment.minimized:
            message = _message(comment, out="minimised")
        elif thread >= THREAD_MOST and not places.begins_thread(comment) if here else len(units) >= found.reach:
            message = _message(comment, out="beyond window")
        else:
            message = found.examined.get(ref(comment)) or _examined(
                comment, found, places, bots_full=bots >= found.reach and not here, of_thread=here
            )
            found.examined[ref(comment)] = message
        if not message.out and message.ref not in found.pinned:
            if here:
                thread += 1
            elif _foreign_bot(message):
                bots += 1
            else:
                units.add(message.unit)
        messages.append(message)
    messages.reverse()
    return messages


def _window(found: _Found, places: _Places) -> list[Message]:
    """Those that can take a place in a window, whoever's words it shows."""
    return [
        message
        for message in _messages(found, places)
        if not message.out
        and not _foreign_bot(message)
        and message.ref not in found.pinned
        and not message.stands_in(places.root_id)
    ]


def _is_newer(message: Message, kind: Kind, oldest: datetime | None) -> bool:
    """Whether no unread comment of a kind, all of which are older than `oldest`, can stand behind a message."""
    return oldest is None or message.kind == kind or message.created_at >= oldest


def _examined(comment: Comment, found: _Found, places: _Places, *, bots_full: bool, of_thread: bool) -> Message:
    """One comment as it stood, with what keeps it from being shown, if anything does."""
    purpose, group = _ours(comment, found)
    message = replace(_message(comment), purpose=purpose, group=group)
    if purpose not in (_OF_THREAD if of_thread else (None, "result")):
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
        kind=comment.kind,
        place=comment.place,
    )


def _ours(comment: Comment, found: _Found) -> tuple[str | None, str]:
    """The purpose of a comment of ours, and what its parts share."""
    ours: Slot | str | None
    if ref(comment) in found.read.comments:
        ours = found.is_ours(comment)
    elif ref(comment) in found.versions.refs:
        version = found.versions.newest(ref(comment))
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
    read = found.read.comments
    pinned = {ref(pin.comment) for pin in pins}
    gone = found.versions.deleted | {which for which in pinned if which not in read and found.read.covers(which)}
    current = dict(read)
    for which in pinned:
        if which not in current and which in found.versions.refs:
            current[which] = found.versions.current(which)
    # the issue's own word about its pin is the newest; what it does not name any more was unpinned
    now = [issue.pinned_comment] if issue.pinned_comment else [c for c in read.values() if c.pinned]
    native = [_native(comment, pins) for comment in now]
    stored = [pin for pin in pins if pin.native and not now]
    merged, notes = merge(
        [pin for pin in pins if not pin.native],
        [*stored, *native],
        current=current,
        deleted=gone - {ref(comment) for comment in now},
    )
    return tuple(_pin(pin, found) for pin in merged), notes


def _native(comment: Comment, pins: Iterable[PinnedComment]) -> PinnedComment:
    known = next((pin for pin in pins if pin.native and ref(pin.comment) == ref(comment)), None)
    return replace(known, comment=comment) if known else PinnedComment(comment, "", comment.updated_at, native=True)


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
