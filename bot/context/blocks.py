"""Foreign text between lines that nobody but the engine can write.

    [begin 0f3c9a1b… kind=comment trust=reader source="comment 42 by ana (read)"]
    the text
    [end 0f3c9a1b… kind=comment trust=reader source="comment 42 by ana (read)"]

A block ends at the line with its own nonce and nowhere else, so whatever the text imitates stays text.
"""

from __future__ import annotations

from bot.context.nonce import nonce
from bot.model.context import Block, Trust
from bot.model.ident import compact


def fence(key: bytes, block: Block) -> str:
    """The block as it stands in a prompt, with a final newline. A text without one gets it before the closing line."""
    return fence_value(key, block.kind, block.source, block.trust, block.text)


def fence_value(key: bytes, kind: str, source: str, trust: Trust, text: str) -> str:
    """The same for a value that a template inserts. `source` stands on one line, whatever is in it."""
    lines = f"{nonce(key, kind, source, text)} kind={kind} trust={trust} source={compact(source)}"
    end = "" if not text or text.endswith("\n") else "\n"
    return f"[begin {lines}]\n{text}{end}[end {lines}]\n"
