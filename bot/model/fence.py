"""Text as it is, in a fenced block that it cannot leave."""

from __future__ import annotations

import re

_RUN = re.compile(r"`{3,}")


def fence(text: str, language: str = "text") -> str:
    """`text` in a code fence longer than any run of backticks in it. Empty text gives an empty fence."""
    ticks = "`" * max(3, *(len(run) + 1 for run in _RUN.findall(text)), 3)
    body = text.rstrip("\n")
    return f"{ticks}{language}\n{body}\n{ticks}"
