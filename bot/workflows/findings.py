"""Gathering findings: one per place, an error beats a warning, in the order of the file."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from bot.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.workflows.mark import Mark

#: beyond this many a person mends the first ones anyway; it also bounds the time spent on a hostile file
FINDINGS_MAX = 100
#: words in a list that a person reads
_LISTED_MAX = 60
#: words that one is compared with, and their length: each comparison takes time
_COMPARED_MAX = 200
_COMPARED_LENGTH_MAX = 64


class Findings:
    """A growing set of findings. At one place the first error stays, or the first warning where there is no error."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, int], Finding] = {}
        #: templates looked at so far
        self.references = 0

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
    """Names as code, for a sentence: `a`, `b`, `c`. Of a great many only the first."""
    shown = [f"`{word}`" for word in islice(words, _LISTED_MAX + 1)]
    return ", ".join([*shown[:_LISTED_MAX], "…"] if len(shown) > _LISTED_MAX else shown)


def meant(word: str, known: Iterable[str]) -> str:
    """*Did you mean …*, where one of the known words is close; else nothing."""
    # difflib is quadratic in the length of its words
    names = sorted(name for name in set(known) if len(name) <= _COMPARED_LENGTH_MAX)[:_COMPARED_MAX]
    close = get_close_matches(word.lower()[:_COMPARED_LENGTH_MAX], names, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The hint for a word that is not known: the closest known one, else all of them."""
    names = sorted(set(known))
    return meant(word, names) or (f"expected one of {listing(names)}" if names else "")
