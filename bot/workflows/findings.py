"""Gathering findings: one per place, an error beats a warning, in the order of the file."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from bot.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.workflows.mark import Mark

#: beyond this many a person mends the first ones anyway; it also bounds the time spent on a hostile file
FINDINGS_MAX = 100


class Findings:
    """A growing set of findings. At one place the first error stays, or the first warning where there is no error."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, int], Finding] = {}

    def error(self, mark: Mark, code: str, message: str, hint: str = "") -> None:
        self._add(Finding(mark.file, mark.line, mark.column, "error", code, message, hint))

    def warning(self, mark: Mark, code: str, message: str, hint: str = "") -> None:
        self._add(Finding(mark.file, mark.line, mark.column, "warning", code, message, hint))

    def _add(self, finding: Finding) -> None:
        place = (finding.file, finding.line, finding.column)
        before = self._found.get(place)
        if before is None or (before.severity == "warning" and finding.severity == "error"):
            self._found[place] = finding

    def extend(self, other: Findings) -> None:
        """Take over everything that `other` found."""
        for finding in other.sorted():
            self._add(finding)

    @property
    def full(self) -> bool:
        """Whether there is no point in looking for more."""
        return len(self._found) >= FINDINGS_MAX

    @property
    def failed(self) -> bool:
        """Whether there is an error among them."""
        return any(finding.severity == "error" for finding in self._found.values())

    def sorted(self) -> tuple[Finding, ...]:
        """All findings by file, line and column."""
        return tuple(sorted(self._found.values()))


def listing(words: Iterable[str]) -> str:
    """Names as code, for a sentence: `a`, `b`, `c`."""
    return ", ".join(f"`{word}`" for word in words)


def meant(word: str, known: Iterable[str]) -> str:
    """*Did you mean …*, where one of the known words is close; else nothing."""
    # difflib is quadratic in the length of its words
    close = get_close_matches(word.lower()[:64], sorted(set(known)), n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The hint for a word that is not known: the closest known one, else all of them."""
    names = sorted(set(known))
    return meant(word, names) or (f"expected one of {listing(names)}" if names else "")
