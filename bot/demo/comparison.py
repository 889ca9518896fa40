"""Two commits of a git repository compared as GitHub compares them: from their merge base."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.demo.git import FileChange, GitRepository

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_WORDS = {"A": "added", "D": "removed", "M": "modified", "T": "changed", "R": "renamed", "C": "copied"}


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a comparison. `patch` is its hunks, empty for binary files; `before` its old name where it moved."""

    change: FileChange
    patch: str
    before: str = ""


def merge_base(git: GitRepository, base: str, head: str) -> str | None:
    """The newest commit that both come from; None where they share no history."""
    return git.run("merge-base", base, head, check=False).decode().strip() or None


def ahead(git: GitRepository, base: str, head: str) -> list[str]:
    """SHAs that `head` has and `base` has not, oldest first."""
    return git.run("rev-list", "--reverse", head, f"^{base}").decode().split()


def diff(git: GitRepository, base: str, head: str) -> str:
    """The unified diff from the merge base to `head`."""
    start = merge_base(git, base, head) or base
    return git.run("diff", "--no-color", "--no-ext-diff", "-M", start, head).decode("utf-8", "replace")


def patches(git: GitRepository, base: str, head: str) -> str:
    """The commits as e-mails."""
    start = merge_base(git, base, head) or base
    return git.run("format-patch", "--stdout", "--no-color", f"{start}..{head}").decode("utf-8", "replace")


def files(git: GitRepository, base: str, head: str) -> list[FileDiff]:
    """The files that differ between the merge base and `head`, by path."""
    start = merge_base(git, base, head) or base
    raw = git.run("diff", "--raw", "--no-abbrev", "-z", "-M", start, head).decode("utf-8", "replace").split("\0")
    found: list[FileDiff] = []
    position = 0
    while position < len(raw) - 1:
        _, _, old, new, status = raw[position].split()
        moved = status[0] in "RC"
        before, path = (raw[position + 1], raw[position + 2]) if moved else ("", raw[position + 1])
        position += 3 if moved else 2
        patch = _hunks(git, start, head, *([before] if moved else []), path)
        lines = patch.split("\n")
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        blob = old if status[0] == "D" else new
        found.append(FileDiff(FileChange(path, _WORDS[status[0]], blob, added, removed), patch, before))
    return found


def _hunks(git: GitRepository, start: str, head: str, *paths: str) -> str:
    """The hunks alone, as GitHub's `patch`: without the header and the last newline."""
    text = git.run("diff", "--no-color", "--no-ext-diff", "-M", start, head, "--", *paths).decode("utf-8", "replace")
    begin = text.find("\n@@ ")
    return "" if begin < 0 else text[begin + 1 :].removesuffix("\n")


def hunk_to(patch: str, line: int, side: str) -> str | None:
    """A file's hunk up to a line of one side (`LEFT`: as it was, `RIGHT`: as it is); None where it is not shown."""
    start = old = new = 0
    lines = patch.split("\n")
    for index, text in enumerate(lines):
        if match := _HUNK.match(text):
            start, old, new = index, int(match[1]), int(match[2])
            continue
        sign = text[:1]
        here = (side == "LEFT" and sign in "- " and old == line) or (side == "RIGHT" and sign in "+ " and new == line)
        if here and sign:
            return "\n".join(lines[start : index + 1])
        old += sign in {"-", " "}
        new += sign in {"+", " "}
    return None
