"""Task lists: which items of a comment's lists have a box, where it stands in the source, and ticking it.

An item has one if its first block is a paragraph that begins with `[ ]` or `[x]`, white space and then something; what
looks like it elsewhere (in code, in a quote's plain text, behind other words) is text.
Source: https://github.github.com/gfm/#task-list-items-extension-
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_BOX = re.compile(r"\[([ \txX])\](?=\s)")
#: as the parser sees lines, whatever their ends
_LINE_END = re.compile(r"\r\n?|\n")
_LISTS = {"bullet_list_open", "ordered_list_open"}


@dataclass(frozen=True, slots=True)
class Box:
    """A box: its number in the comment from 0, where its sign between the brackets stands in the source, and what
    stands behind it, as Markdown.
    """

    number: int
    ticked: bool
    at: int
    says: str = field(compare=False, default="")


def plugin(parser: MarkdownIt) -> None:
    """Have the parser find boxes: the inline token of such an item has its `Box` as `meta["box"]` and no brackets."""
    parser.core.ruler.before("inline", "checklist", _find)


def box_of(token: Token) -> Box | None:
    """The box that an inline token begins with."""
    found: Any = token.meta.get("box")
    return found if isinstance(found, Box) else None


def boxes(tokens: Sequence[Token]) -> Iterator[Box]:
    """The boxes of a parsed comment in their order."""
    return (box for token in tokens if (box := box_of(token)) is not None)


def with_tick(source: str, box: Box, ticked: bool) -> str:
    """The source with that box ticked or empty; nothing else is touched, line ends neither."""
    return f"{source[: box.at]}{'x' if ticked else ' '}{source[box.at + 1 :]}"


def _find(state: StateCore) -> None:
    source = str(state.env.get("source", state.src))
    lines: list[tuple[int, str]] = []
    lists: list[Token] = []
    number = 0
    for index, token in enumerate(state.tokens):
        if token.type in _LISTS:
            lists.append(token)
        elif token.type in {"bullet_list_close", "ordered_list_close"}:
            lists.pop()
        if token.type != "inline" or index < 2 or token.map is None:
            continue
        item, paragraph = state.tokens[index - 2 : index]
        match = _BOX.match(token.content)
        if (item.type, paragraph.type) != ("list_item_open", "paragraph_open") or match is None:
            continue
        lines = lines or list(_lines(source))
        start, line = lines[token.map[0]]
        token.content = token.content[match.end() :].lstrip()
        # before it stand only indentation, signs of lists and of quotes
        token.meta["box"] = Box(number, match[1] in "xX", start + line.index("[") + 1, token.content)
        item.attrSet("class", "task-list-item")
        lists[-1].attrSet("class", "contains-task-list")
        number += 1


def _lines(source: str) -> Iterator[tuple[int, str]]:
    """Each line with its place in the source."""
    start = 0
    for match in _LINE_END.finditer(source):
        yield start, source[start : match.start()]
        start = match.end()
    yield start, source[start:]
