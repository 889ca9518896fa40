"""Which lines of a pull request's diff can carry a review comment. Pure.

Reads the unified diff that git and GitHub write (`diff --git`, with renames, deletions, binary files, quoted names,
files without a newline at their end). Hunks are read by the counts in their headers, so that no line of a file is taken
for one of the diff's own. Where a text breaks off or counts wrongly, what was read until there stands.
Sources: https://git-scm.com/docs/diff-format and
https://docs.github.com/en/rest/pulls/comments#create-a-review-comment-for-a-pull-request
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Side = Literal["LEFT", "RIGHT"]

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_NOWHERE = "/dev/null"


@dataclass(frozen=True, slots=True)
class Hunk:
    """The lines that can carry a comment: what was removed by its old number, what is added or kept by its new one."""

    left: frozenset[int]
    right: frozenset[int]

    def lines(self, side: Side) -> frozenset[int]:
        """Those of a side."""
        return self.left if side == "LEFT" else self.right


@dataclass(frozen=True, slots=True)
class Diff:
    """The hunks of each file, by the name that GitHub calls it: the new one, of a deleted file the old one."""

    files: Mapping[str, tuple[Hunk, ...]] = field(default_factory=dict)

    def carries(self, path: str, side: Side, line: int, start_line: int | None = None) -> bool:
        """Whether a comment can stand at a line, or at a range of lines of one hunk."""
        for hunk in self.files.get(path, ()):
            lines = hunk.lines(side)
            if line in lines:
                return start_line is None or start_line in lines
        return False


def read_diff(text: str) -> Diff:
    """Read a diff, possibly of many files. Total: any text has an answer."""
    # at LF alone: files hold carriage returns, form feeds and Unicode's line ends
    lines = text.split("\n")
    files: dict[str, list[Hunk]] = {}
    old, new = "", ""
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.startswith("diff --git "):
            old, new = "", ""
        elif line.startswith("--- "):
            old = _name(line[4:], "a/")
        elif line.startswith("+++ "):
            new = _name(line[4:], "b/")
            files.setdefault(old if new == _NOWHERE else new, [])
        elif (head := _HUNK.match(line)) and new:
            hunk, position = _hunk(lines, position, head)
            files[old if new == _NOWHERE else new].append(hunk)
        # everything else is about modes, renames and binary files: nothing there has lines
    return Diff({path: tuple(hunks) for path, hunks in files.items()})


def _hunk(lines: list[str], position: int, head: re.Match[str]) -> tuple[Hunk, int]:
    old, new = int(head[1]), int(head[3])
    old_end, new_end = old + int(head[2] or 1), new + int(head[4] or 1)
    left: set[int] = set()
    right: set[int] = set()
    while position < len(lines) and (old < old_end or new < new_end):
        line = lines[position]
        sign = line[:1]
        if sign == "-" and old < old_end:
            left.add(old)
            old += 1
        elif sign == "+" and new < new_end:
            right.add(new)
            new += 1
        elif sign in (" ", "", "\r") and old < old_end and new < new_end:
            # programs that trim line ends leave nothing of an empty line that was kept
            right.add(new)
            old, new = old + 1, new + 1
        elif sign != "\\":
            break
        position += 1
    return Hunk(frozenset(left), frozenset(right)), position


def _name(text: str, prefix: str) -> str:
    """A file's name in a header line; git quotes it like C where it has to, and ends one with spaces with a tab."""
    if text.startswith('"'):
        end = text.rfind('"')
        raw = text[1:end].encode("utf-8", "surrogatepass")
        text = _ESCAPE.sub(_unescaped, raw).decode("utf-8", "replace")
    else:
        text = text.removesuffix("\r").partition("\t")[0]
    return text if text == _NOWHERE else text.removeprefix(prefix)


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if len(code) == 3:
        return bytes([int(code, 8) & 0xFF])
    return _LETTERS.get(code, code)
