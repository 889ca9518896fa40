"""A place in a file of the repository, as people count: lines and columns from 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """Where something stands. Its text form is for sentences: `.github/bot.yml line 31`."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file} line {self.line}"

    def moved(self, text: str, offset: int) -> Mark:
        """The place `offset` characters into `text`, which begins at this mark."""
        lines = text.count("\n", 0, offset)
        start = text.rfind("\n", 0, offset) + 1
        return Mark(self.file, self.line + lines, offset - start + (1 if lines else self.column))
