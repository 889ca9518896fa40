"""Reads an assembled prompt back into its parts, from its text alone, for the demo model.

A block opens with a line that carries a nonce and closes with the next line that carries the same one; whatever stands
between is its text, even if it looks like a block (docs: context, *Blocks are data*). The opening line also says kind,
source and trust; which words it uses beside them does not matter here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

#: a line that may open or close a block begins with a sign, never with a word
_FENCE = re.compile(r"\s*[^\w\s]")
#: at least 12 characters with letters and digits: no word of a heading
_NONCE = re.compile(r"(?<![0-9A-Za-z_-])(?=[0-9A-Za-z_-]*[0-9])(?=[0-9A-Za-z_-]*[A-Za-z])[0-9A-Za-z_-]{12,}")
_PAIR = re.compile(r"""([A-Za-z][\w-]*)[=:]\s*("(?:[^"\\]|\\.)*"|[^\s"<>\[\]]+)""")
_LOGIN = re.compile(r"@([A-Za-z0-9][A-Za-z0-9-]*(?:\[bot\])?)")

#: the words by which an opening line tells its kind, most telling first
_KINDS = (
    ("pin", re.compile(r"\bpin(s|ned)?\b")),
    ("request", re.compile(r"\brequest\b")),
    ("input", re.compile(r"\b(input|exec)s?\b")),
    ("comment", re.compile(r"\bcomments?\b")),
    ("issue", re.compile(r"\bissue\b")),
)


@dataclass(frozen=True, slots=True)
class Part:
    """One block: its kind (pin, request, input, comment, issue or empty), who wrote it, its label and its text."""

    kind: str
    author: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A prompt taken apart. `request` is the request's block, else what follows the last block."""

    parts: tuple[Part, ...]
    request: str

    @property
    def pins(self) -> tuple[Part, ...]:
        return self._of("pin")

    @property
    def comments(self) -> tuple[Part, ...]:
        return self._of("comment")

    @property
    def inputs(self) -> tuple[Part, ...]:
        return self._of("input")

    def _of(self, kind: str) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.kind == kind)


def read(prompt: str) -> Reading:
    """Take `prompt` apart. A prompt without blocks is all request."""
    parts: list[Part] = []
    rest: list[str] = []
    for item in _split(prompt.splitlines()):
        if isinstance(item, Part):
            parts.append(item)
            rest.clear()
        else:
            rest.append(item)
    requests = [part.text for part in parts if part.kind == "request"]
    return Reading(tuple(parts), (requests[-1] if requests else "\n".join(rest)).strip())


def _split(lines: list[str]) -> Iterator[Part | str]:
    at = 0
    while at < len(lines):
        end = _closing(lines, at)
        if end is None:
            yield lines[at]
            at += 1
        else:
            yield _part(lines[at], "\n".join(lines[at + 1 : end]))
            at = end + 1


def _closing(lines: list[str], at: int) -> int | None:
    """The line that closes a block opened at `at`; None if that line opens none."""
    if not _FENCE.match(lines[at]):
        return None
    for nonce in _NONCE.findall(lines[at]):
        for end in range(at + 1, len(lines)):
            if nonce in lines[end] and _FENCE.match(lines[end]):
                return end
    return None


def _part(opening: str, text: str) -> Part:
    said = {key.lower(): value.strip('"') for key, value in _PAIR.findall(opening)}
    words = said.get("kind") or _NONCE.sub(" ", opening)
    kind = next((name for name, pattern in _KINDS if pattern.search(words.lower())), "")
    login = _LOGIN.search(opening)
    author = said.get("author") or said.get("by") or (login.group(1) if login else "")
    label = said.get("label") or said.get("name") or said.get("source", "")
    part = Part(kind, author.removeprefix("@"), label, text)
    return part if author else replace(part, author="")
