"""Where a Markdown text is code, raw HTML, or running text: the block structure, by a CommonMark parser."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

_CELL_BORDER = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a text. What begins in a span of running text ends with it at the latest."""

    start: int
    end: int
    kind: Literal["code", "html", "text", "definition", "surplus"]


@dataclass(frozen=True, slots=True)
class Definition(Span):
    """A link reference definition, which nobody sees: `[label]: url "title"`."""

    label: str
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Structure:
    """The spans of a text in order; what lies between them is blank or belongs to containers."""

    spans: tuple[Span, ...]

    def at(self, position: int) -> Span | None:
        """The span that holds a position."""
        index = bisect_right(self.spans, position, key=lambda span: span.start) - 1
        span = self.spans[index] if index >= 0 else None
        return span if span and position < span.end else None

    @property
    def definitions(self) -> tuple[Definition, ...]:
        return tuple(span for span in self.spans if isinstance(span, Definition))


def structure(text: str) -> Structure:
    """The block structure of a text with LF line ends (CommonMark 0.31 and GFM tables)."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    starts[-1] -= 1
    spans: list[Span] = []
    table: Token | None = None
    columns = 0
    for token in _parser().parse(text):
        if token.type == "table_open":
            table, columns = token, 0
        elif token.type == "th_open":
            columns += 1
        elif token.type == "table_close" and table:
            spans += _rows(table, columns, text, starts)
            table = None
        elif table is None:
            spans += _spans(token, starts)
    return Structure(tuple(_apart(spans)))


def label_key(label: str) -> str:
    """How labels are compared: without regard to case and white space."""
    return " ".join(label.split()).casefold()


@cache
def _parser() -> MarkdownIt:
    """Blocks only. Every URL is let through as written: a definition hides its text whatever its URL is."""
    parser = MarkdownIt("commonmark", {"inline_definitions": True}).enable("table")
    parser.core.ruler.enableOnly(["block"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # the documented way to set it
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]  # as above
    return parser


def _spans(token: Token, starts: list[int]) -> Iterator[Span]:
    if token.map is None or token.map[0] >= token.map[1]:
        return
    first, last = token.map
    start, end = starts[first], starts[last]
    match token.type:
        case "fence" | "code_block":
            yield Span(start, end, "code")
        case "html_block":
            yield Span(start, end, "html")
        case "definition" if not token.meta["label"].startswith("^"):
            meta = token.meta
            yield Definition(start, end, "definition", meta["label"], meta["url"], meta["title"])
        case "inline" | "definition":
            yield Span(start, end, "text")
        case _:
            return


def _rows(table: Token, columns: int, text: str, starts: list[int]) -> Iterator[Span]:
    """The cells of a table: whatever begins in a cell ends in it. Cells beyond the header's number are not shown."""
    assert table.map is not None
    for line in range(*table.map):
        left, end = starts[line], starts[line + 1]
        row = text[left:end].rstrip("\n")
        borders = [left + border.end() for border in _CELL_BORDER.finditer(row)]
        if row.lstrip(" \t>").startswith("|"):
            del borders[0]
        for border in borders[:columns]:
            yield Span(left, border, "text")
            left = border
        rest = Span(left, starts[line] + len(row), "surplus" if len(borders) >= columns else "text")
        if text[rest.start : rest.end].strip():
            yield rest


def _apart(spans: list[Span]) -> Iterator[Span]:
    """Without spans that lie in the one before: a line can begin a list and a paragraph in it."""
    end = 0
    for span in spans:
        if span.start >= end:
            yield span
            end = span.end
