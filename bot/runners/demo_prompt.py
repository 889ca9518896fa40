"""Reads an assembled prompt back into its parts, from its text alone, for the demo model.

    [begin 0f3c9a1b… kind=comment trust=reader source="comment 42 by ana (read)"]
    the text
    [end 0f3c9a1b… kind=comment trust=reader source="comment 42 by ana (read)"]

A block ends at the line with its own nonce and nowhere else (docs: context, *Blocks are data*), so a text that looks
like a block stays text here too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_BEGIN = re.compile(r"\[begin (?P<nonce>[0-9a-f]{16,64}) kind=(?P<kind>\S+) trust=\w+ source=(?P<source>\".*\")\]")
_HANDLE = re.compile(r"\s*(@[A-Za-z\d][\w-]*)(?![\w/@-])")
_WORKFLOW = re.compile(r"^workflow: (?P<name>.+)$", re.MULTILINE)
_AUTHOR = re.compile(r"\bby (?P<login>[A-Za-z0-9][\w-]*(?:\[bot\])?)")


@dataclass(frozen=True, slots=True)
class Part:
    """One block: its kind (issue, pin, comment, input, request, …), where it is from, and its text."""

    kind: str
    source: str
    text: str

    @property
    def author(self) -> str:
        """The login in its source; empty where nobody wrote it."""
        found = _AUTHOR.search(self.source)
        return found["login"] if found else ""

    @property
    def is_bot(self) -> bool:
        """Whether a bot wrote it."""
        return self.author.endswith("[bot]")

    @property
    def facts(self) -> str:
        """Of a computed input: what the engine wrote above its output (command, exit code, or why there is none)."""
        head, _, _ = self.text.partition("\n\n")
        return head if head.startswith("input: ") else ""

    @property
    def output(self) -> str:
        """Of a computed input: what it gave, without the engine's lines."""
        return self.text.partition("\n\n")[2] if self.facts else self.text


@dataclass(frozen=True, slots=True)
class Reading:
    """A prompt taken apart. `request` is the last request block, else what follows the last block."""

    parts: tuple[Part, ...]
    request: str

    @property
    def pins(self) -> tuple[Part, ...]:
        return self._of("pin")

    @property
    def comments(self) -> tuple[Part, ...]:
        return self._of("comment")

    @property
    def words(self) -> tuple[Part, ...]:
        """Comments in which people talk to each other: none of a bot's, and none that gives a bot work."""
        handle = _handle(self.request)
        return tuple(
            part for part in self.comments if not part.is_bot and not (handle and _handle(part.text) == handle)
        )

    @property
    def question(self) -> str:
        """The request without the bot's handle and the workflow's name in front."""
        rest = self.request[len(_handle(self.request)) :].strip()
        first, _, behind = rest.partition(" ")
        return behind.strip() if first in self._workflows() and behind.strip() else rest

    def _workflows(self) -> frozenset[str]:
        runs = (_WORKFLOW.search(part.text) for part in self._of("run"))
        return frozenset(_source(found["name"]) for found in runs if found)

    @property
    def inputs(self) -> tuple[Part, ...]:
        return self._of("input")

    @property
    def reworks(self) -> tuple[Part, ...]:
        """Why it is done again, in the words of whoever sent it back."""
        return self._of("rework")

    def _of(self, kind: str) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.kind == kind)


def read(prompt: str) -> Reading:
    """Take `prompt` apart. A prompt without blocks is all request."""
    parts: list[Part] = []
    rest: list[str] = []
    for item in _split(prompt.split("\n")):
        if isinstance(item, Part):
            parts.append(item)
            rest.clear()
        else:
            rest.append(item)
    requests = [part.text for part in parts if part.kind == "request"]
    return Reading(tuple(parts), (requests[-1] if requests else "\n".join(rest)).strip())


def _handle(text: str) -> str:
    """The handle with which a text begins; empty where it speaks to nobody."""
    found = _HANDLE.match(text)
    return found[1].lower() if found else ""


def _split(lines: list[str]) -> Iterator[Part | str]:
    at = 0
    while at < len(lines):
        begin = _BEGIN.fullmatch(lines[at])
        end = _end(lines, at + 1, begin["nonce"]) if begin else None
        if begin is None or end is None:
            yield lines[at]
            at += 1
        else:
            yield Part(begin["kind"], _source(begin["source"]), "\n".join(lines[at + 1 : end]))
            at = end + 1


def _end(lines: list[str], start: int, nonce: str) -> int | None:
    return next((at for at in range(start, len(lines)) if lines[at].startswith(f"[end {nonce} ")), None)


def _source(said: str) -> str:
    try:
        return str(json.loads(said))
    except ValueError:
        return said.strip('"')
