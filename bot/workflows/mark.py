"""A place in a file of the repository, as people count: lines and columns from 1."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple


class Mark(NamedTuple):
    """Where something stands. Its text form is for sentences: `.github/bot.yml line 31`."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file} line {self.line}"

    def within(self, text: str) -> Callable[[int], Mark]:
        """Tells the place of an offset into `text`, which begins at this mark; its lines are looked for once."""
        starts = [0, *(found.end() for found in re.finditer("\n", text))]

        def place(offset: int) -> Mark:
            lines = bisect_right(starts, offset) - 1
            return Mark(self.file, self.line + lines, offset - starts[lines] + (1 if lines else self.column))

        return place
