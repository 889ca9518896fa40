"""What the engine reads for inputs beside commands: the port, and each thing read as text for a prompt.

Texts that people write in Markdown pass the sanitiser; differences, logs and files are made visible and no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bot.context.invisible import make_visible
from bot.context.sanitise import sanitise
from bot.context.tally import Tally
from bot.context.window import Selection
from bot.model.pull import Diff, FailedLogs, Linked, ReviewThread
from bot.workspace.capture import Capture

#: how GitHub Actions begins each line of a log
_TIME = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ", re.MULTILINE)
#: colours and cursor movements (ECMA-48), titles of windows
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


class Unavailable(Exception):
    """An input cannot be had here; the text says why, and begins in lower case: `this thread is an issue`."""


class Sources(Protocol):
    """Where inputs are read. Each call may raise `Unavailable`, and what GitHub's client raises."""

    async def diff(self) -> Diff: ...

    async def failed_logs(self) -> FailedLogs: ...

    async def unresolved_threads(self) -> tuple[ReviewThread, ...]: ...

    async def linked_issues(self) -> tuple[Linked, ...]: ...

    async def comments(self, count: int) -> Selection: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """A text that was read: where, its bytes, facts for its heading, what the sanitiser took out.

    `is_cut` where it already has the size that is wanted.
    """

    source: str
    text: str
    size: int
    facts: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    is_cut: bool = False


def cut(text: str, limit: int) -> str:
    """Head and tail of a text beyond `limit` bytes; a line of its own says how much is missing."""
    capture = Capture(limit)
    capture.feed(text.encode("utf-8", "replace"))
    return capture.text()


def diff_text(diff: Diff) -> Reading:
    """A unified diff."""
    text, removed = visible(diff.text)
    facts = (f"against {diff.base}", f"head {diff.head_sha[:12]}")
    return Reading(f"pull request {diff.number}", text, _size(diff.text), facts, removed)


def logs_text(logs: FailedLogs, limit: int, redact: Callable[[str], str]) -> Reading:
    """Every failed check with an equal share of `limit` bytes, so that a long log hides no other."""
    count = len(logs.failed)
    facts = [f"{count} failed check{'' if count == 1 else 's'}"]
    if logs.running:
        facts.append(f"{logs.running} still running")
    if logs.unread:
        facts.append(f"{logs.unread} more failed, not read")
    parts: list[str] = []
    removed: list[str] = []
    size = 0
    for log in logs.failed:
        text, gone = visible(redact(_ESCAPES.sub("", _TIME.sub("", log.text))))
        name = " ".join(visible(log.check.name)[0].split())
        head = f"== {name}: {log.check.conclusion}{f' ({log.note})' if log.note else ''} {log.check.url}".rstrip()
        size += _size(text)
        removed += gone
        parts.append(f"{head}\n{_ended(cut(text, max(1, limit // count)))}")
    text = "\n".join(parts) or "no check has failed\n"
    return Reading(f"checks of {logs.head_sha[:12]}", text, size, tuple(facts), tuple(removed), is_cut=True)


def threads_text(threads: tuple[ReviewThread, ...]) -> Reading:
    """Review threads: place, then who said what."""
    parts: list[str] = []
    tally: list[str] = []
    for thread in threads:
        place = thread.path if thread.line is None else f"{thread.path}:{thread.line}"
        notes = ["outdated"] if thread.outdated else []
        notes += [f"{thread.hidden} more comments"] if thread.hidden else []
        lines = [f"== {visible(place)[0]}" + (f" ({', '.join(notes)})" if notes else "")]
        for comment in thread.comments:
            if comment.minimized:
                continue
            clean = sanitise(comment.body)
            tally += clean.removed
            lines.append(f"-- {comment.author.login}, {comment.created_at:%Y-%m-%d %H:%M} UTC\n{_ended(clean.text)}")
        parts.append("\n".join(lines))
    text = "\n".join(parts) or "no unresolved review thread\n"
    facts = (f"{len(threads)} unresolved thread{'' if len(threads) == 1 else 's'}",)
    return Reading("review threads", text, _size(text), facts, tuple(tally))


def linked_text(rows: tuple[Linked, ...]) -> Reading:
    """Linked issues or pull requests: what they are, then their text."""
    parts: list[str] = []
    removed: list[str] = []
    for row in rows:
        title, body = sanitise(row.title), sanitise(row.body)
        removed += [*(f"title: {line}" for line in title.removed), *body.removed]
        what = "pull request" if row.is_pull_request else "issue"
        head = f"== {what} {row.repository}#{row.number} ({row.state}) by {row.author.login}: "
        parts.append(f"{head}{' '.join(title.text.split())}\n{row.url}\n{_ended(body.text)}")
    text = "\n".join(parts) or "nothing is linked\n"
    return Reading("linked", text, _size(text), (f"{len(rows)} linked",), tuple(removed))


def comments_text(selection: Selection) -> Reading:
    """Comments, oldest first, as the recency window shows them."""
    parts = [
        f"== {one.message.label} ({one.role}), {'; '.join(one.message.facts)}\n{_ended(one.message.text)}"
        for one in selection.comments
    ]
    below = sum(record.fate == "below trust" for record in selection.records)
    facts = [f"{len(parts)} comment{'' if len(parts) == 1 else 's'}"]
    if below:
        facts.append(f"{below} left out as below trust: {selection.authors}")
    removed = tuple(line for one in selection.comments for line in one.message.removed)
    text = "\n".join(parts) or "no comment\n"
    return Reading("thread", text, _size(text), tuple(facts), removed)


def visible(text: str) -> tuple[str, tuple[str, ...]]:
    """A text with its invisible characters shown or taken out, and what was taken out."""
    tally = Tally()
    return make_visible(text, tally), tally.lines()


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
