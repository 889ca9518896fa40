"""One loaded file: its data, and where each part of it stands."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bot.workflows.mark import Mark

Path = tuple[str | int, ...]

_OPENING = re.compile(r"\$\{\{")


#: the children of a scalar
CHILDLESS: Mapping[str | int, Spot] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Source:
    """A file and its text."""

    file: str
    text: str


@dataclass(slots=True)
class Spot:
    """Where one value stands: its first character, its span in a file's text, the place of its key, its children."""

    line: int
    column: int
    start: int
    end: int
    source: Source
    key: tuple[int, int] | None = None
    #: none for a scalar
    children: Mapping[str | int, Spot] = field(default_factory=lambda: CHILDLESS)

    @property
    def mark(self) -> Mark:
        """The place of the value."""
        return Mark(self.source.file, self.line, self.column)

    @property
    def key_mark(self) -> Mark:
        """The place of its key; of a list's entry what stands there."""
        return Mark(self.source.file, *(self.key or (self.line, self.column)))

    @property
    def written(self) -> str:
        """The value as it was written."""
        return self.source.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Document:
    """One loaded file, or one over another: plain `data` (dict, list, str, int, float, bool, None) and its places."""

    file: str
    text: str
    data: Any
    root: Spot

    def _spot(self, path: Path) -> tuple[Spot, bool]:
        spot = self.root
        for part in path:
            child = spot.children.get(part)
            if child is None:
                return spot, False
            spot = child
        return spot, True

    def has(self, path: Path) -> bool:
        """Whether something was written at `path`."""
        return self._spot(path)[1]

    def spot(self, path: Path) -> Spot:
        """Where the value at `path` stands, or the nearest above it; for a walk down, which need not begin anew."""
        return self._spot(path)[0]

    def value(self, path: Path) -> tuple[int, int]:
        """Line and column of the value at `path`; of the nearest value above it where there is none."""
        spot = self.spot(path)
        return spot.line, spot.column

    def key(self, path: Path) -> tuple[int, int]:
        """Line and column of the key at `path`; of a list's entry, and of a missing key's owner, what stands there."""
        spot = self.spot(path)
        return spot.key or (spot.line, spot.column)

    def mark(self, path: Path) -> Mark:
        """The place of the value at `path`."""
        return self.spot(path).mark

    def key_mark(self, path: Path) -> Mark:
        """The place of the key at `path`."""
        return self.spot(path).key_mark

    def token_marks(self, path: Path, text: str) -> Callable[[int], Mark]:
        """Tells the place of the template token at an offset of the scalar `text`, which stands at `path`.

        Escapes and folding move characters about, so tokens are counted, not characters; where the counts differ it is
        the place of the scalar.
        """
        spot, found = self._spot(path)
        source, mark = spot.written, spot.mark
        if not found or source.count("${{") != text.count("${{"):
            return lambda offset: mark
        here = [one.start() for one in _OPENING.finditer(source)]
        there = [one.start() for one in _OPENING.finditer(text)]
        place = mark.within(source)

        def at(offset: int) -> Mark:
            number = bisect_left(there, offset)
            return place(here[number]) if number < len(here) else mark

        return at

    def text_marks(self, path: Path, text: str) -> Callable[[int], Mark]:
        """Tells the place of the character at an offset of the scalar `text`, which stands at `path`.

        Where the text does not stand in the file as it is, because of escapes or folding, it is the scalar's place.
        """
        spot, found = self._spot(path)
        source, mark = spot.written, spot.mark
        begin = source.find(text) if found else -1
        if begin >= 0:
            place = mark.within(source)
            return lambda offset: place(begin + offset)
        columns = _columns(source, text) if found and source.startswith("|") else []
        if not columns:
            return lambda offset: mark
        inside = Mark(mark.file, mark.line + 1).within(text)

        def at(offset: int) -> Mark:
            here = inside(offset)
            line = here.line - mark.line - 1
            return Mark(here.file, here.line, here.column + (columns[line] if line < len(columns) else 0))

        return at


def _columns(source: str, text: str) -> list[int]:
    """Of a block scalar (`|`): for each line of its text how far it is indented in the file; none if lines differ."""
    there = source.split("\n")[1:]
    found = []
    for number, line in enumerate(text.rstrip("\n").split("\n")):
        if number >= len(there) or not there[number].rstrip("\r").endswith(line):
            return []
        found.append(len(there[number].rstrip("\r")) - len(line) if line else 0)
    return found
