"""Tables as the documentation writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a cell cannot leave its place."""
    lines = [_row(head), f"|{'---|' * len(head)}", *map(_row, rows)]
    return "\n".join(lines)


def code(text: str) -> str:
    """Text as code; nothing stays nothing."""
    return f"`{text}`" if text else ""


def codes(words: Iterable[str]) -> str:
    """Words as code, by comma."""
    return ", ".join(f"`{word}`" for word in words)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    line = " ".join(text.split()).replace("|", r"\|")
    # outside code a `<` would begin a tag
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in re.split(r"(`[^`]*`)", line))
