"""Fenced blocks of a text, as CommonMark has them.

Source: https://spec.commonmark.org/0.31.2/#fenced-code-blocks
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(.*?)[ \t]*")
_CLOSING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")


@dataclass(frozen=True, slots=True)
class Block:
    """One closed block: the words behind its fence, its text, and where it stands with its fences (characters)."""

    info: str
    text: str
    start: int
    end: int


def blocks(text: str) -> list[Block]:
    """Every closed block in order. A fence within a block is that one's text; one that is never closed is none."""
    found: list[Block] = []
    fence, info, start, inside, at = "", "", 0, 0, 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if not fence:
            match = _OPENING.fullmatch(bare)
            # a backtick in the info string makes it inline code
            if match is not None and not (match[1][0] == "`" and "`" in match[2]):
                fence, info, start, inside = match[1], match[2], at, at + len(line)
        else:
            match = _CLOSING.fullmatch(bare)
            if match is not None and match[1][0] == fence[0] and len(match[1]) >= len(fence):
                found.append(Block(info, text[inside:at], start, at + len(line)))
                fence = ""
        at += len(line)
    return found
