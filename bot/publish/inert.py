"""Words that act on GitHub (mentions, closing keywords, commands to other bots), made into words that only say.

In Markdown they become inline code: GitHub looks for them in no code, readers see what was written and copy it without
an invisible character. Where Markdown means nothing (titles, commit messages) a zero-width space comes between.
Sources: https://docs.github.com/en/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github/basic-writing-and-formatting-syntax#mentioning-people-and-teams
and https://docs.github.com/en/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.publish import tags
from bot.publish.view import BORDER, Edit, View

#: breaks a word for machines only; `bot.publish.clean` takes it out again
ZERO_WIDTH = "\u200b"

# an underscore before it may be emphasis, so only letters and digits shield it (as in an e-mail address)
MENTION = re.compile(
    r"(?<![A-Za-z0-9])@(?P<name>[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?(?:/[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?)"
)
#: a whole name with its path and version, so that `@types/node@20` stays in one piece
_WHOLE = re.compile(r"@[A-Za-z0-9](?:[A-Za-z0-9_./@+~^-]*[A-Za-z0-9])?")
KEYWORD = r"(?<![A-Za-z0-9_])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?![A-Za-z0-9_])"
#: between keyword and reference: a colon, space, and whatever may be markup or a border
GAP = r"[\s:*_~\"'()\[\]<>#\0-]{0,40}?"
REFERENCE = (
    r"(?:[A-Za-z0-9_.-]{1,100}+/[A-Za-z0-9_.-]{1,100}+)?#[0-9]+|GH-[0-9]+"
    r"|https?://[^\s/<>`|]+/[^\s/<>`|]+/[^\s/<>`|]+/(?:issues|pull|discussions)/[0-9]+(?:[/?#][^\s<>`|()\[\]]*)?"
)
CLOSING = re.compile(rf"{KEYWORD}{GAP}(?<![A-Za-z0-9_&])(?P<reference>{REFERENCE})", re.IGNORECASE)
_LINKED = re.compile(rf"{KEYWORD}{GAP}\[[^\[\]]{{0,200}}\Z|{KEYWORD}{GAP}\Z", re.IGNORECASE)
TARGET = re.compile(r"https?://[^\s/]+/[^\s/]+/[^\s/]+/(?:issues|pull|discussions)/[0-9]+", re.IGNORECASE)
#: GitHub makes a link of it before it looks for mentions, and looks into no link
URL = re.compile(
    rf"(?:^|(?<=[\s*_~({BORDER}]))https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]+)?[/?#][^\s<{BORDER}]*", re.MULTILINE
)
#: what follows a command may be anything but the rest of a path
_COMMAND = re.compile(r"^(?P<before>[ \t]*)(?P<place>/)[A-Za-z][A-Za-z0-9_-]*+(?!/|\.[A-Za-z0-9])", re.MULTILINE)
#: GitHub reads what follows as a footnote or a definition: shown elsewhere or, where nothing refers to it, nowhere
_DEFINITION = re.compile(
    r"^(?P<before>[ >\t*+\-0-9.)]*(?:\[[ xX]\][ \t]+)?)(?P<place>\[)"
    r"(?:\^[^\]\s]{1,999}|(?:[^\[\]\\\n]|\\.){1,999}+)\]:",
    re.MULTILINE,
)

#: what keeps GitHub's checks from being run on a commit
#: Source: https://docs.github.com/en/actions/how-tos/manage-workflow-runs/skip-workflow-runs
_SKIP = re.compile(
    r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]|^skip-checks:(?=[ \t]*true)", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may act all the same. Names and references in lower case."""

    mentions: frozenset[str] = frozenset()
    every_mention: bool = False
    closes: frozenset[str] = frozenset()

    def pings(self, name: str) -> bool:
        """Whether `@name` (or `@org/team`) may reach them."""
        return self.every_mention or name.lower() in self.mentions

    def shuts(self, reference: str) -> bool:
        """Whether a keyword before this reference may stand."""
        return reference.lower() in self.closes


def words(view: View, source: str, allowed: Allowed, *, trusting: bool) -> Iterator[Edit]:
    """The edits that make the live words of a region inert."""
    text = view.text
    shielded = [match.span() for match in URL.finditer(text)] if trusting and view.region.kind == "text" else []
    end = 0
    for match in MENTION.finditer(text):
        start = match.start()
        if start < end or allowed.pings(match["name"]) or inside(shielded, start):
            continue
        whole = _WHOLE.match(text, start)
        assert whole is not None
        end = whole.end()
        yield _code(view, source, start, text[start:end])
    for match in CLOSING.finditer(text):
        if not allowed.shuts(match["reference"]):
            yield _code(view, source, match.start("reference"), match["reference"])
    yield from _links(view, source, text, allowed)
    yield from _lines(view, source)


def inside(spans: Sequence[tuple[int, int]], place: int) -> bool:
    """Whether `place` lies within one of `spans`, which are in order and apart."""
    before = bisect_left(spans, (place,)) - 1
    return before >= 0 and place < spans[before][1]


def plain(text: str, allowed: Allowed) -> str:
    """The same for text that is no Markdown."""
    text = MENTION.sub(lambda m: m[0] if allowed.pings(m["name"]) else f"@{ZERO_WIDTH}{m['name']}", text)

    def broken(match: re.Match[str]) -> str:
        reference = match["reference"]
        if allowed.shuts(reference):
            return match[0]
        head = match[0][: match.start("reference") - match.start()]
        digits = re.search(r"[0-9]+(?=[/?#]|$)", reference) or re.search(r"[0-9]", reference)
        assert digits is not None
        return f"{head}{reference[: digits.start()]}{ZERO_WIDTH}{reference[digits.start() :]}"

    return _SKIP.sub(lambda m: f"{m[0][0]}{ZERO_WIDTH}{m[0][1:]}", CLOSING.sub(broken, text))


def _code(view: View, source: str, start: int, text: str) -> Edit:
    """Inline code in place of `text`, which stands at `start` in the view."""
    first, last = view.place(start, start + len(text))
    backticked = source[first - 1 : first] == "`" or source[last : last + 1] == "`"
    if view.region.kind == "html" or view.loose or backticked:
        return Edit(first, last, tags.code(text))
    return Edit(first, last, f"`{text}`")


def _links(view: View, source: str, text: str, allowed: Allowed) -> Iterator[Edit]:
    """A keyword before a link to an issue: the link comes apart, its address is shown as code."""
    for index, start, end, address in view.links:
        if allowed.shuts(address) or not TARGET.match(address):
            continue
        before = _LINKED.search(text, max(0, index - 300), index)
        if before is None:
            continue
        shown = tags.code(address) if view.loose else f"`{address}`"
        bracket = text.rfind("[", before.start(), index)
        if source[start] == "]" and bracket != -1:
            yield Edit(*view.place(bracket, bracket + 1), "")
            yield Edit(start, end, f" ({shown})")
        elif source[start] == "<":
            yield Edit(start, end, shown)


def _lines(view: View, source: str) -> Iterator[Edit]:
    """Lines that other bots act on, and definitions that are none to our parser: shown as they are written."""
    region = view.region
    visible = {place[0] for place in view.places}
    patterns = ((_COMMAND, "\\/"), (_DEFINITION, "\\[")) if region.kind == "text" else ((_COMMAND, "&#47;"),)
    for pattern, harmless in patterns:
        for match in pattern.finditer(source, region.start, region.end):
            place = match.start("place")
            if match.start() and source[match.start() - 1] != "\n":
                continue
            if place in visible:
                yield Edit(place, place + 1, harmless)
            elif match.start() > region.start and not match["before"].strip(" \t>"):
                # inside of code over several lines: a line's end is a space there
                yield Edit(match.start() - 1, place, " ")
