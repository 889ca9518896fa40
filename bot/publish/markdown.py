"""Where Markdown is text, where it is HTML, and where it is code, as offsets into the source.

The parser (CommonMark with GitHub's tables and strikethrough) decides about blocks; it gives no offsets inside them, so
`bot.publish.view` follows the inline rules there and `bot.publish.proof` checks the outcome against the parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

#: blocks nested deeper than this are nobody's answer; Python's stack bears it
_DEEPEST = 60
_BRACKETS = re.compile(r"\[((?:[^\[\]\\]|\\.){1,999}+)\]", re.DOTALL)
_PIPE = re.compile(r"(?<!\\)\|")
#: what stands behind a fence, from where it is no language any more
_INFO = re.compile(r"[ \t]*+(?:[^\s<&\[]{1,60}+(?=[ \t\n]|\Z))?+(?P<rest>[ \t]*[^\s][^\n]*)")
_PREFIX = re.compile(r"[ \t>]*")


class TooComplex(Exception):
    """A text costs more to read than any answer is worth."""


class Effort:
    """How much work may still be spent on a text, in steps of the parser (some microseconds each).

    Counted, not timed: the same text has the same fate on every machine.
    """

    MOST = 150_000

    def __init__(self, left: int = MOST) -> None:
        self.left = left

    @classmethod
    def of(cls, text: str) -> Effort:
        """What a text of this length may cost: several times what dense prose needs."""
        return cls(min(cls.MOST, 20_000 + 2 * len(text)))

    def spend(self, steps: int) -> None:
        """Raises `TooComplex` where that was more than was left."""
        self.left -= steps
        if self.left < 0:
            raise TooComplex


@dataclass(frozen=True, slots=True)
class Region:
    """Source from `start` to `end` that is read as Markdown text, or as HTML. Code is in no region."""

    start: int
    end: int
    kind: Literal["text", "html"]
    #: inside of a list or a quote
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed source. `unseen` is text that the page does not show, with what is to stand there instead."""

    source: str
    tokens: list[Token]
    references: dict[str, str]
    regions: tuple[Region, ...]
    unseen: tuple[tuple[int, int, str], ...]

    def refers(self, label: str) -> str | None:
        """Where a reference of this label leads, None if it is not defined."""
        return self.references.get(normalizeReference(label))


@cache
def parser() -> MarkdownIt:
    """The parser, made once; it keeps nothing between two texts."""
    made = MarkdownIt("commonmark", {"html": True, "maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
    made.inline.ruler.before("text", "effort", _inline_effort)
    made.block.ruler.before(
        "table", "effort", _block_effort, {"alt": ["paragraph", "reference", "blockquote", "list", "table"]}
    )
    return made


def parse(text: str, effort: Effort, environment: dict[str, Any] | None = None) -> list[Token]:
    """The parser's tokens. Raises `TooComplex` where the text takes more than `effort`."""
    environment = {} if environment is None else environment
    environment["effort"] = effort
    return parser().parse(text, environment)


def _inline_effort(state: StateInline, silent: bool) -> bool:
    """A rule that matches nothing and counts each place the parser looks at; `<` makes it copy the rest."""
    character = state.src[state.pos]
    rest = (state.posMax - state.pos) // 2_000 if character in "<&" else 0
    # an open bracket is followed to its end
    rest += 4 if character == "[" and silent else 0
    # emphasis is paired at the end of a block, each mark with those before it
    rest += 2 + len(state.delimiters) // 64 if character in "*_~" else 0
    if (effort := state.env.get("effort")) is not None:
        # a block of its own, or a table's cell, costs more than a place in it
        effort.spend(1 + rest + (8 if state.pos == 0 else 0))
    return False


def _block_effort(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if (effort := state.env.get("effort")) is not None:
        effort.spend(1)
    return False


def read(text: str, effort: Effort | None = None) -> Page:
    """Parse `text` (line ends LF) and find its regions. Raises `TooComplex` as `parse` does."""
    environment: dict[str, Any] = {}
    effort = effort or Effort.of(text)
    effort.spend(len(text) // 16)
    tokens = parse(text, effort, environment)
    lines = _Lines(text)
    regions: list[Region] = []
    unseen: list[tuple[int, int, str]] = []
    row, columns = False, 0
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type in ("tr_open", "tr_close"):
            row = token.type == "tr_open"
        columns = 0 if token.type == "thead_open" else columns + (token.type == "th_open")
        if token.map is None:
            continue
        if token.type == "tr_open":
            place = lines.take(token.map)
            regions.extend(_cells(text, *place))
            unseen.extend(_row(text, *place, columns))
        elif token.type == "html_block":
            regions.append(Region(*lines.take(token.map), "html"))
        elif token.type == "inline" and not row:
            regions.append(Region(*lines.take(token.map), "text", token.level > 1))
        elif token.type in ("fence", "code_block", "hr", "heading_open"):
            start, _ = lines.take(token.map)
            if token.type == "fence" and (words := _beside(text, start, token.markup)):
                unseen.append(words)
            if token.type == "code_block" and before is not None and before.type.endswith("_close"):
                unseen.extend(_apart(text, start))
    # what the parser passed over (nested too deep for it) is text to GitHub
    definitions = list(_definitions(environment, lines))
    regions.extend(Region(start, end, "text") for start, end in lines.left())
    if definitions:  # else there is nothing that could go unused
        effort.spend(text.count("\\["))
        named = {normalizeReference(found) for region in regions for found in _labels(text[region.start : region.end])}
        used = set(_targets(tokens))
        unseen.extend(
            (start, end, "") for label, target, start, end in definitions if label not in named or target not in used
        )
    return Page(
        text,
        tokens,
        {name: entry["href"] for name, entry in environment.get("references", {}).items()},
        tuple(sorted(regions, key=lambda region: region.start)),
        tuple(unseen),
    )


def _definitions(environment: dict[str, Any], lines: _Lines) -> Iterator[tuple[str, tuple[str, str] | None, int, int]]:
    """Label, address and title, and place of each definition of a link; of a second one of the label no address.

    A footnote is no definition to GitHub.
    """
    for label, entry in environment.get("references", {}).items():
        if not label.startswith("^"):
            yield label, (entry["href"], entry["title"]), *lines.take(entry["map"])
    for entry in environment.get("duplicate_refs", []):
        if not entry["label"].startswith("^"):
            yield entry["label"], None, *lines.take(entry["map"])


def _targets(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    """Address and title of every link and image."""
    for token in tokens:
        for child in token.children or ():
            if child.type in ("link_open", "image"):
                yield str(child.attrGet("href") or child.attrGet("src") or ""), str(child.attrGet("title") or "")
            if child.type == "image":
                yield from _targets([child])


def _row(text: str, start: int, end: int, columns: int) -> Iterator[tuple[int, int, str]]:
    """The borders of the cells that a row has more than its table: with them escaped, the last column shows all.

    A row that begins with a tag is none to GitHub; with a border before it, it is. `columns` is 0 for the head.
    """
    prefix = _PREFIX.match(text, start, end)
    first = prefix.end() if prefix else start
    if text[first : first + 1] == "<":
        yield first, first, "|"
    pipes = [pipe.start() for pipe in _PIPE.finditer(text, first, end)]
    if pipes and pipes[0] == first:
        del pipes[0]
    if pipes and not text[pipes[-1] + 1 : end].strip():
        del pipes[-1]
    if columns and len(pipes) >= columns and text[pipes[columns - 1] : end].strip(" \t|"):
        yield from ((pipe, pipe + 1, "\\|") for pipe in pipes[columns - 1 :])


def _apart(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """A blank line before indented code that follows a list or quote at once: to GitHub it is text of that."""
    above = text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : start]
    if above.strip(" \t>\n"):
        prefix = _PREFIX.match(text, start)
        yield start, start, f"{prefix[0].rstrip() if prefix else ''}\n"


def _beside(text: str, start: int, markup: str) -> tuple[int, int, str] | None:
    """What stands behind the language in the line that opens a fence."""
    words = _INFO.match(text, text.index(markup, start) + len(markup))
    return (*words.span("rest"), "") if words else None


class _Lines:
    """Line numbers to offsets, and which lines something stands for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._taken = [False] * (len(self._starts) - 1)

    def take(self, lines: list[int]) -> tuple[int, int]:
        """Offsets of a range of lines (first, last + 1), the final line end left out."""
        first, last = lines[0], min(lines[1], len(self._taken))
        self._taken[first:last] = [True] * (last - first)
        return self._starts[first], max(self._starts[first], self._starts[last] - 1)

    def left(self) -> Iterator[tuple[int, int]]:
        """Lines that nothing was taken from and that are not blank."""
        for number, taken in enumerate(self._taken):
            start, end = self._starts[number], self._starts[number + 1] - 1
            if not taken and self._text[start:end].strip():
                yield start, end


def _cells(text: str, start: int, end: int) -> Iterator[Region]:
    for pipe in _PIPE.finditer(text, start, end):
        yield Region(start, pipe.start(), "text")
        start = pipe.end()
    yield Region(start, end, "text")


def _labels(text: str) -> list[str]:
    """What might be a reference's label: anything in brackets, nested ones too."""
    found = _BRACKETS.findall(text)
    # [a [b] c] is no label, but [![b]][a] has two
    return found + _BRACKETS.findall(_BRACKETS.sub("", text))
