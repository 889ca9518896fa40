"""Reading a thread as it stood at an anchor: the issue, a few pages of what was said, and what the store has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from datetime import datetime

from bot.context.found import Found, IsOurs
from bot.context.messages import in_window, is_newer, messages
from bot.context.pages import LEAST_PER_PAGE, PER_PAGE, Pages, ThreadReader, read_pages
from bot.context.pins import known_pins
from bot.context.places import Places
from bot.context.reviews import Collected, ReviewReader, read_reviews
from bot.context.sanitise import sanitise
from bot.context.snapshot import Anchor, Kind, Message, PinnedComment, Ref, StoredVersion, ThreadSnapshot, ref
from bot.context.versions import EDITED_KNOWN, ISSUE_BODY, Older, Versions
from bot.model.thread import Issue, ReviewPlace

#: a small page holds so many times what the window looks at
_FEW = 3


async def read_thread(
    reader: ThreadReader,
    *,
    reviews: ReviewReader | None = None,
    number: int,
    anchor: Anchor,
    window: int,
    known_count: int = 0,
    versions: Sequence[StoredVersion] = (),
    since: datetime | None = None,
    older: Older | None = None,
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
    `versions` may be those of comments written `since` then alone (None: of all); `older` gives more of them, where
    what was read goes further back or does not fill the window.
    Raises what the reader raises: NotFound for a thread that was deleted or transferred.
    """
    issue = await reader.issue(number)
    places = Places(anchor, issue.created_at)
    found = Found(
        Collected(),
        Versions(versions),
        is_ours,
        is_command_only,
        max(window, reach or 2 * window),
        frozenset(ref(pin.comment) for pin in pins),
    )
    if window:
        # where the store knows that little of what was said last takes no place, a small page will do
        few = since is not None and _known_before(anchor, since, versions, found.pinned) >= found.reach
        wanted = min(LEAST_PER_PAGE, _FEW * found.reach) if few else PER_PAGE

        def enough(kind: Kind, count: int = window) -> bool:
            """Whether there are so many without what is older than what was read of a kind."""
            oldest = found.read.of(kind).oldest
            newer = (message for message in in_window(found, places) if is_newer(message, oldest))
            return _reaches(newer, count)

        def enough_comments(pages: Pages) -> bool:
            found.read.conversation = pages
            return enough("comment", found.reach if few else window)

        if reviews is not None and issue.is_pull_request:
            await read_reviews(reviews, number, found.read, root_id=anchor.root_id, enough=enough)

        count = known_count or issue.comment_count
        if issue.comment_count:
            count = min(count, issue.comment_count)
        if anchor.comment_id is not None and anchor.kind == "comment":
            count = max(count, 1)
        found.read.conversation = await read_pages(
            reader,
            number,
            count,
            total=issue.comment_count,
            wanted=wanted,
            precedes=places.precede,
            enough=enough_comments,
        )
    if older is not None:
        await _look_back(found, places, since, older)
    reads = 1 + found.read.reads
    shown_pins, notes = known_pins(found, issue, pins)
    found.pinned = frozenset(pin.message.ref for pin in shown_pins)
    body, body_removed, body_notes = _issue(issue, found.versions.issue_body(issue, anchor))
    return ThreadSnapshot(
        issue=body,
        issue_removed=body_removed,
        anchor=anchor,
        window=window,
        messages=tuple(messages(found, places)),
        pins=shown_pins,
        notes=(*body_notes, *notes),
        reads=reads,
        complete=_is_complete(found.read, window, issue),
        place=_place(found, anchor),
    )


def _known_before(anchor: Anchor, since: datetime, versions: Sequence[StoredVersion], pinned: Set[Ref]) -> int:
    """How many comments since then can take a place in a window, as far as the store knows without reading them."""
    return len(
        {
            version.ref
            for version in versions
            if since <= version.created_at < anchor.at
            and version.comment_id != ISSUE_BODY
            and version.deleted_at is None
            and not version.minimized
            and version.purpose in (None, "result")
            and (version.purpose is not None or not version.author.is_bot)
            and version.ref not in pinned
        }
    )


def _reaches(messages: Iterable[Message], count: int) -> bool:
    """Whether there are so many units; no more of them are looked at than that takes."""
    units: set[str] = set()
    for message in messages:
        units.add(message.unit)
        if len(units) >= count:
            return True
    return False


async def _look_back(found: Found, places: Places, since: datetime | None, older: Older) -> None:
    """Have the store's texts of every comment that was looked at; and of all comments where the window is not full."""
    if since is None:
        return
    full = len({message.unit for message in in_window(found, places)}) >= found.reach
    oldest = min((message.created_at for message in found.examined.values()), default=since)
    if not full:
        found.know(await older(None))
    elif oldest < since:
        found.know(await older(oldest))


def _is_complete(read: Collected, window: int, issue: Issue) -> bool:
    """Whether nothing that was said before the anchor is missing."""
    conversation = bool(read.conversation.read) or not (window and issue.comment_count)
    return conversation and read.complete


def _place(found: Found, anchor: Anchor) -> ReviewPlace | None:
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
