"""Rules of pins, and the index comment that shows them to people and restores them.

Two sorts: GitHub's own (one an issue, read, never displaced) and ours (any number, rows of the store).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace

from bot.context.found import Found
from bot.context.sanitise import sanitise
from bot.context.snapshot import Kind, Message, Pin, PinnedComment, Ref, order, ref
from bot.model.thread import Comment, Issue

_TITLE = "📌 **What the bot always sees here**"
_WORDS = 80
#: emphasis and code marks, which a quotation of a few words does not need
_MARKS = re.compile(r"\*\*|__|`+")
#: the fragment of GitHub's link to a comment, by what sort of comment it is
_FRAGMENTS: Mapping[Kind, str] = {
    "comment": "issuecomment-",
    "review": "pullrequestreview-",
    "review_comment": "discussion_r",
}
_FRAGMENT = rf"#(?P<kind>{'|'.join(_FRAGMENTS.values())})(?P<id>[0-9]+)"
_LINE = re.compile(rf"^[0-9]+\. \[[^\]\n]*\]\([^)\s]*{_FRAGMENT}\)", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~!&$(){}])")


def _merged(
    own: Sequence[PinnedComment],
    native: Sequence[PinnedComment],
    *,
    current: Mapping[Ref, Comment],
    deleted: Collection[Ref],
) -> tuple[tuple[PinnedComment, ...], tuple[str, ...]]:
    """Every pin once, oldest comment first, with its current text; and notes about those that were dropped.

    `native` holds what GitHub says now. A comment pinned both ways is one pin, and ours says who made it. `current` are
    comments as GitHub shows them now.
    """
    kept: dict[Ref, PinnedComment] = {}
    notes: dict[Ref, str] = {}
    for pin in [*own, *native]:
        comment, which = pin.comment, ref(pin.comment)
        if which in deleted:
            notes[which] = f"pin of comment {comment.id} dropped: the comment was deleted"
            continue
        fresh = current.get(which)
        if fresh is not None and fresh.updated_at >= comment.updated_at:
            comment = fresh
        known = kept.get(which)
        if known is None:
            kept[which] = replace(pin, comment=comment)
        elif pin.native and not known.native:
            kept[which] = replace(known, native=True)
    ordered = sorted(kept.values(), key=lambda pin: order(pin.comment))
    return tuple(ordered), tuple(notes.values())


def known_pins(found: Found, issue: Issue, pins: Sequence[PinnedComment]) -> tuple[tuple[Pin, ...], tuple[str, ...]]:
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
    merged, notes = _merged(
        [pin for pin in pins if not pin.native],
        [*stored, *native],
        current=current,
        deleted=gone - {ref(comment) for comment in now},
    )
    return tuple(_pin(pin, found, read) for pin in merged), notes


def _native(comment: Comment, pins: Iterable[PinnedComment]) -> PinnedComment:
    known = next((pin for pin in pins if pin.native and ref(pin.comment) == ref(comment)), None)
    return replace(known, comment=comment) if known else PinnedComment(comment, "", comment.updated_at, native=True)


def _pin(pin: PinnedComment, found: Found, read: Container[Ref]) -> Pin:
    clean = sanitise(pin.comment.body)
    notes = [f"pinned by {pin.pinned_by}" if pin.pinned_by else "pinned on GitHub"]
    if pin.edited:
        notes.append(f"edited {pin.comment.updated_at:%Y-%m-%d %H:%M} UTC")
    message = replace(
        Message.of(pin.comment),
        purpose=found.ours(pin.comment, read)[0],
        text=clean.text,
        removed=clean.removed,
        note="; ".join(notes),
    )
    return Pin(message, pin.pinned_by, pin.pinned_at, pin.native, pin.role)


def render_index(pins: Sequence[PinnedComment], mention: str = "@bot", title: str = _TITLE) -> str:
    """The index comment's text, to be posted through the output policy: one numbered line a pin, in the order given."""
    lines = [title, ""]
    lines += [f"{number}. {_entry(pin)}" for number, pin in enumerate(pins, 1)] or ["Nothing is pinned."]
    usage = f"`{mention} pin <link>`" + (f" · `{mention} unpin {len(pins)}`" if pins else "")
    return "\n".join([*lines, "", f"<sub>{usage}</sub>", ""])


def parse_index(body: str) -> list[Ref]:
    """The comments that an index lists, in its order: enough to restore the rows. Verify its marker first."""
    found = [_linked(match) for match in _LINE.finditer(body.replace("\r\n", "\n"))]
    return list(dict.fromkeys(found))


def numbered(pins: Sequence[PinnedComment], what: str) -> Ref | None:
    """The comment that `unpin` means: a number of the index or a link to the comment; None if no pin is it."""
    what = what.strip().rstrip(">").lstrip("<")
    if what.isascii() and what.isdigit():
        index = int(what) - 1
        return ref(pins[index].comment) if 0 <= index < len(pins) else None
    which = linked_comment(what)
    return which if any(ref(pin.comment) == which for pin in pins) else None


def linked_comment(link: str) -> Ref | None:
    """What a link points at: a comment, a review or a review comment, by the fragment that GitHub gives each."""
    match = re.search(rf"{_FRAGMENT}\Z", link.strip())
    return _linked(match) if match else None


def _linked(match: re.Match[str]) -> Ref:
    kind = next(kind for kind, fragment in _FRAGMENTS.items() if fragment == match["kind"])
    return kind, int(match["id"])


def first_words(text: str, limit: int = _WORDS) -> tuple[str, bool]:
    """The beginning of a sanitised text on one line, and whether there was more. Cut at a word's end if it can be."""
    line = " ".join(_MARKS.sub("", text).split())
    if len(line) <= limit:
        return line, False
    cut = line[: limit + 1].rsplit(" ", 1)[0]
    return (cut if len(cut) <= limit else line[:limit]), True


def _entry(pin: PinnedComment) -> str:
    comment = pin.comment
    words, more = first_words(sanitise(comment.body).text)
    quoted = _SPECIAL.sub(r"\\\1", words).replace("@", "@\u200b")
    # a link that is not to this very comment could not be read back
    link = re.sub(r"#.*|[\s()<>]", "", comment.url) + f"#{_FRAGMENTS[comment.kind]}{comment.id}"
    author = _SPECIAL.sub(r"\\\1", comment.author.login.replace("[bot]", ""))
    date = f"{comment.created_at.day} {comment.created_at:%B}"
    return f'[{author}, {date}]({link}): "{quoted}"{" …" if more else ""}{" (edited since)" if pin.edited else ""}'
