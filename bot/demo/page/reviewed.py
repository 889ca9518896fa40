"""What the page shows of a pull request beside its comments: reviews with their threads, and checks of its head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from bot.demo.page.entry import Entry, html_of
from bot.demo.records import Annotation, Check, Pull, Review, ReviewComment, ReviewThread, User
from bot.model.role import Role

#: lines of a diff that stand above what was said about the last of them
_LINES = 6
_VERDICTS = {
    "APPROVED": "approved these changes",
    "CHANGES_REQUESTED": "requested changes",
    "COMMENTED": "reviewed",
    "DISMISSED": "reviewed; the review was dismissed",
}
#: conclusions by how they look: what went well, what asks for somebody, what says nothing
_GOOD, _BAD = {"success"}, {"failure", "timed_out", "action_required", "startup_failure"}
#: what asks for somebody comes first
_ORDER = ("bad", "running", "good", "quiet")

Show = Callable[[ReviewComment], Entry]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a hunk: its sign as CSS names it, and its text."""

    sort: str
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """A thread about one place of the diff."""

    path: str
    where: str
    lines: tuple[DiffLine, ...]
    messages: tuple[Entry, ...]
    resolved_by: User | None
    outdated: bool


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A review: who said what, and the threads that it began."""

    id: int
    author: User
    role: Role | None
    is_bot: bool
    verdict: str
    sort: str
    html: Markup | None
    at: datetime
    after: int
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """What a check says about a place: `level` is `notice`, `warning` or `failure`."""

    place: str
    level: str
    title: str
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A check of the head: `sort` is `good`, `bad`, `running` or `quiet`."""

    id: int
    name: str
    app: str
    sort: str
    state: str
    title: str
    html: Markup | None
    notes: tuple[Note, ...]


def reviews(pull: Pull, role: Callable[[User], Role | None], show: Show) -> Iterator[Reviewed]:
    """The reviews in the order they came. One that only answers in a thread is shown in that thread alone."""
    for row in pull.reviews:
        places = tuple(_place(each, show) for each in pull.review_threads if _begun_by(each, row))
        if row.state == "PENDING" or not (row.body.strip() or places or row.state != "COMMENTED"):
            continue
        yield Reviewed(
            row.id, row.author, role(row.author), row.author.type == "Bot", _VERDICTS[row.state], row.state.lower(),
            html_of(row.body) if row.body.strip() else None, row.submitted_at, row.after, places,
        )  # fmt: skip


def checked(rows: Iterable[Check]) -> list[Checked]:
    """Checks as they stand, those first that went wrong."""
    return sorted(map(_checked, rows), key=lambda each: (_ORDER.index(each.sort), each.name, each.id))


def tally(rows: Iterable[Checked]) -> str:
    """How many are in which state: `1 failure, 2 success`."""
    counts = Counter(row.state for row in rows)
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _checked(row: Check) -> Checked:
    sort = "running" if row.conclusion is None else "quiet"
    sort = "good" if row.conclusion in _GOOD else "bad" if row.conclusion in _BAD else sort
    said = "\n\n".join(text for text in (row.summary, row.text) if text)
    return Checked(
        row.id, row.name, row.app.name if row.app else "", sort, (row.conclusion or row.status).replace("_", " "),
        row.title or "", html_of(said) if said else None, tuple(map(_note, row.annotations)),
    )  # fmt: skip


def _note(row: Annotation) -> Note:
    lines = str(row.start_line) if row.start_line == row.end_line else f"{row.start_line}-{row.end_line}"
    return Note(f"{row.path}:{lines}", row.level, row.title or "", row.message)


def _begun_by(thread: ReviewThread, review: Review) -> bool:
    return bool(thread.comments) and thread.comments[0].review is review


def _place(thread: ReviewThread, show: Show) -> Place:
    lines = thread.comments[0].hunk.split("\n")
    head, body = (lines[:1], lines[1:]) if lines[0].startswith("@@") else ([], lines)
    shown = [*head, *body[-_LINES:]] if len(body) <= _LINES else body[-_LINES:]
    return Place(
        thread.path, _where(thread), tuple(_diff_line(line) for line in shown if line),
        tuple(map(show, thread.comments)), thread.resolved_by, thread.outdated,
    )  # fmt: skip


def _where(thread: ReviewThread) -> str:
    """The lines in words; those of the old side say so."""
    if thread.line is None:
        return "the whole file"
    several = thread.start_line is not None and thread.start_line != thread.line
    words = f"lines {thread.start_line} to {thread.line}" if several else f"line {thread.line}"
    return f"{words}, as it was" if thread.side == "LEFT" else words


def _diff_line(line: str) -> DiffLine:
    sorts = {"+": "added", "-": "removed", "@": "place"}
    return DiffLine(sorts.get(line[0], "same"), line)
